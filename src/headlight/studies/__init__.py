"""Studies of a corpus: each a folder of its own, and independent of the others."""

__all__ = ["catalogue"]
