"""Samples of corpora inside the package."""

from pathlib import Path

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TEXT = _ASSETS / "sample.txt"
SAMPLE_REVIEWS = _ASSETS / "sample.reviews.tsv"
"""Short reviews, positive or negative."""

NAMES = {
    str(SAMPLE_TEXT): "the sample corpus",
    str(SAMPLE_REVIEWS): "the sample reviews",
}
"""Names of the samples in reports, wherever the package lies."""
