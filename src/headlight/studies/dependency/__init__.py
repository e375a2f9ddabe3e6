"""Heads as parsers (Clark et al. 2019, Section 4)."""
