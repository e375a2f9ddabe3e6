"""Samples of corpora inside the package."""

from pathlib import Path

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TEXT = _ASSETS / "sample.txt"
SAMPLE_TRANSLATIONS = _ASSETS / "sample.de-en"
"""Twelve short pairs, German and English."""
SAMPLE_LINKS = _ASSETS / "sample.talp"
"""The links of their words."""
SAMPLE_TREEBANK = _ASSETS / "sample.conllu"
"""Short stories with their trees and their coreference."""
SAMPLE_REVIEWS = _ASSETS / "sample.reviews.tsv"
"""Short reviews, positive or negative."""

NAMES = {
    str(SAMPLE_TEXT): "the sample corpus",
    str(SAMPLE_TRANSLATIONS): "the sample translations",
    str(SAMPLE_TREEBANK): "the sample treebank",
    str(SAMPLE_REVIEWS): "the sample reviews",
}
"""Names of the samples in reports, wherever the package lies."""
