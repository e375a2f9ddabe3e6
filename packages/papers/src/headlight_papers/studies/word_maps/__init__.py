"""Attention maps between words, kept on disk; what parser probes are trained on."""
