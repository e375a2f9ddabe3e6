"""One text, and every question to it: all measures, other attention, edits of heads."""

from headlight.reading.layers import read, read_example
from headlight.reading.reading import Reading

__all__ = ["Reading", "read", "read_example"]
