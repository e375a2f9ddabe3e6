"""Probes that parse from attention (Clark et al. 2019, Section 5)."""
