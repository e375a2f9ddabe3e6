"""Attention between words, kept on disk."""
