"""The survey: every head, by weight, norm, effective attention and gradient."""
