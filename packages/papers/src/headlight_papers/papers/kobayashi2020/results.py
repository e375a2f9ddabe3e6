"""The results that the exhibits of Kobayashi et al. share, each made once."""

import xarray

from headlight.views.parts import By
from headlight.vocabulary import RANKS_WITHOUT_FILE
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_settings, text_source

LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". or ,",
    "other": "other tokens",
    "sink": "sinks",
}
BY = By("key_category", LABELS)


def load_norms(reproduction: Reproduction) -> xarray.Dataset:
    """Weights and norms of the text, in one pass."""
    text, ranks = text_source(reproduction), reproduction.sources.frequency_ranks or "corpus"
    reads = (text, [ranks] if ranks in RANKS_WITHOUT_FILE else ranks)
    settings = text_settings(reproduction)
    return reproduction.run("norms", text, reads=reads, frequency_ranks=ranks, **settings)


def categories(found: xarray.Dataset) -> list[str]:
    """The categories of attended tokens that occur."""
    return [
        str(name)
        for name in found["key_category"].values
        if float(found["token_count"].sel(key_category=name)) > 0
    ]
