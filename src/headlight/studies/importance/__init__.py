"""How much the loss depends on attention (Clark et al. 2019, Section 3.2)."""
