"""Heads removed, and attention replaced, while a model runs."""
