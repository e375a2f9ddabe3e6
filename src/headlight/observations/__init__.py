"""Observations of a batch: positions, units, arrays of layers, and the variables made of them."""

__all__ = [
    "classifier_outputs",
    "components",
    "dispersion",
    "layer_arrays",
    "positions",
    "text_ids",
    "variables",
    "word_importance",
]
