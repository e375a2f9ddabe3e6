"""The control of the study: tokens in a random order."""

RANDOM = "random"
"""Name of the control beside all measures, which knows nothing of a text."""
