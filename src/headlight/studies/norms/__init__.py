"""Norms of transformed vectors (Kobayashi et al. 2020, Section 4)."""
