"""Attention in code of a model's own, brought to the interface hook."""
