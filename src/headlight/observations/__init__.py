"""Observations of a batch: positions, units, arrays of layers, and variables made from them."""

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
