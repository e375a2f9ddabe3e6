"""One text, and every question to it: all measures, other attention, edits of heads."""

from headlight.reading.reading import Reading, read, read_example

__all__ = ["Reading", "read", "read_example"]
