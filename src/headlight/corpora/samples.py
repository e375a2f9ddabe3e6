"""The samples that come with the package; what they are, ``assets/SAMPLE.md`` says."""

from pathlib import Path

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TEXT = _ASSETS / "sample.txt"
SAMPLE_TRANSLATIONS = _ASSETS / "sample.de-en"
"""Twelve short pairs, German and English."""
SAMPLE_LINKS = _ASSETS / "sample.talp"
"""The links of their words."""
