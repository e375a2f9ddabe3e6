"""Samples of annotated and parallel text inside the package."""

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from headlight.corpora import Corpus

_ASSETS = Path(__file__).parents[1] / "assets"

SAMPLE_TRANSLATIONS = _ASSETS / "sample.de-en"
"""Twelve short pairs, German and English."""
SAMPLE_LINKS = _ASSETS / "sample.talp"
"""The links of their words."""
SAMPLE_TREEBANK = _ASSETS / "sample.conllu"
"""Short stories with their trees and their coreference."""

NAMES = {
    str(SAMPLE_TRANSLATIONS): "the sample translations",
    str(SAMPLE_TREEBANK): "the sample treebank",
}
"""Names of the samples in reports, wherever the package lies."""

Element = TypeVar("Element")


def name_sample(corpus: Corpus[Element], source: object) -> Corpus[Element]:
    """Return the corpus, under the name of the sample if it was opened from one."""
    name = NAMES.get(str(source))
    return corpus if name is None else replace(corpus, source=name)
