"""Observations of a batch: positions, units, arrays of layers, and the variables made of them."""
