"""Ways to remove a word from a text."""

from typing import Literal

Removal = Literal["mask", "delete", "attention"]
"""Way to remove a word."""
