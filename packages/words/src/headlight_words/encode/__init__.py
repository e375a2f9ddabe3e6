"""Translations and annotated spans as examples that a model can read."""
