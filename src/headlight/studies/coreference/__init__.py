"""Heads as resolvers of coreference (Clark et al. 2019, Section 4)."""
