"""What input tokens contribute to hidden ones (Brunner et al. 2020, Section 5)."""
