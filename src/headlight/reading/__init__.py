"""One text, and every question to it: all measures, other attention, edits of heads."""

from headlight.reading.example import read_example
from headlight.reading.readers import read
from headlight.reading.reading import Reading

__all__ = ["Reading", "read", "read_example"]
