"""How much of attention is identifiable (Brunner et al. 2020, Section 3)."""
