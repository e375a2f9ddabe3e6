"""Weights and norms of the text, which the exhibits of Section 4 share."""

import xarray

from headlight.views.parts import By
from headlight.vocabulary import RANKS_WITHOUT_FILE
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_settings, text_source

LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". or ,",
    "other": "other tokens",
    "sink": "sinks",
}
BY = By("key_group", LABELS)
TOTALS = {"weight_total": "weight", "weighted_norm_total": "norm"}
"""Sums over the tokens of a kind, by the measure of which they are."""


def load_norms(reproduction: Reproduction) -> xarray.Dataset:
    """Load weights and norms of the text, their ranks, and sums by kind of token, in one pass."""
    text, ranks = text_source(reproduction), reproduction.sources.frequency_ranks or "corpus"
    reads = (text, [ranks] if ranks in RANKS_WITHOUT_FILE else ranks)
    settings = text_settings(reproduction)
    result = reproduction.run(
        "survey",
        text,
        name="norms",
        reads=reads,
        measures=("weight", "norm"),
        numbers=("ranks",),
        frequency_ranks=ranks,
        passages=False,
        token_types=0,
        **settings,
    )
    if "group_total" in result:
        totals = result["group_total"]
    else:  # no sinks were searched
        totals = result["total"].sel(query_category="all", drop=True)
        totals = totals.rename(key_category="key_group")
    return result.assign(
        {name: totals.sel(measure=measure, drop=True) for name, measure in TOTALS.items()}
    )


def categories(result: xarray.Dataset) -> list[str]:
    """Return the categories of attended tokens that occur."""
    return [
        str(name)
        for name in result["key_group"].values
        if float(result["token_count"].sel(key_group=name)) > 0
    ]
