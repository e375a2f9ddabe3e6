"""Samples of annotated and parallel text inside the package."""

from pathlib import Path

from headlight.corpora import SAMPLE_NAMES

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TRANSLATIONS = _ASSETS / "sample.de-en"
"""Twelve short pairs, German and English."""
SAMPLE_LINKS = _ASSETS / "sample.talp"
"""The links of their words."""
SAMPLE_TREEBANK = _ASSETS / "sample.conllu"
"""Short stories with their trees and their coreference."""

SAMPLE_NAMES[str(SAMPLE_TRANSLATIONS)] = "the sample translations"
SAMPLE_NAMES[str(SAMPLE_TREEBANK)] = "the sample treebank"
