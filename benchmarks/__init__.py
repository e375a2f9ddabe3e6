"""Benchmarks: what every analysis costs, as a ratio to the plain forward pass in the same run."""
