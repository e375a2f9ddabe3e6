"""How well cross-attention, gradients and predictions link words of a translation."""
