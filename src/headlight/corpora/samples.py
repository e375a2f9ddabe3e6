"""The samples that come with the package; what they are, ``assets/SAMPLE.md`` says."""

from pathlib import Path

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TEXT = _ASSETS / "sample.txt"
SAMPLE_TRANSLATIONS = _ASSETS / "sample.de-en"
"""Twelve short pairs, German and English; the links of ``sample.talp`` are theirs."""
