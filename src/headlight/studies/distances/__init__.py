"""How differently heads attend (Clark et al. 2019, Section 6)."""
