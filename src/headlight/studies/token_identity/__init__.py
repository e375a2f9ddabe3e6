"""How well hidden tokens give away their input tokens (Brunner et al. 2020, Section 4)."""
