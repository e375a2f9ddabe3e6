"""Null spaces of attention, and other attention of the same output: results that are shared."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight.corpora import Corpus, CorpusCounts, Document, open_corpus
from headlight.vocabulary import ValueBias
from headlight_papers.papers.brunner2020 import Settings
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_settings, text_source

FIRST = (
    "The old mill by the river was built in 1802 by a family of farmers, and for more than a "
    "hundred years it ground all the grain that the villages of the valley could bring to it."
)
SECOND = (
    "There are many reasons why the mill was given up: firstly, the river was moved to make room "
    "for a road; secondly, the children of the last miller left their home because they wanted to "
    "live in the city, where they found work in a new factory; and thirdly, bread came to the "
    "shops on the train every morning. Today visitors come on Sundays, when a friend of the family "
    "opens its doors and shows them how the great wheel turned the stones."
)
"""Two paragraphs of ours, longer than the heads of most models are wide."""

BEGINNINGS = (None, 8, None, 16, None, 24, None, 32, None, 48, None, 64)
"""Every other paragraph is cut to this many words, one after the other."""
PARAGRAPHS = (
    "Correlations, ranks and null spaces are of single paragraphs, every other one cut to its "
    "first 8 to 64 words, so that there are texts of all lengths; the paper's are the segments of "
    "Clark et al."
)

METHODS = ("random", "farthest")
ROWS = 8
"""Rows of a head for which the farthest alternative is searched."""


def value_bias(reproduction: Reproduction) -> ValueBias:
    """Return ``exclude``, as in the paper, or ``include`` where a value bias is inseparable."""
    sites = reproduction.model.sites_of(reproduction.kind)
    return "exclude" if all(site.value_bias is not None for site in sites) else "include"


def bias_note(reproduction: Reproduction) -> str:
    """Return the note on the value bias in T."""
    if value_bias(reproduction) == "exclude":
        return "T = E W^V H is without the value bias, as in the paper."
    return "T has the value bias in it, which could not be told apart in this model."


def load_survey(reproduction: Reproduction) -> xarray.Dataset:
    """Load raw and effective attention to kinds of tokens, on pairs of paragraphs."""
    return reproduction.run(
        "survey",
        text_source(reproduction),
        name="attention-survey",
        measures=("weight", "effective"),
        value_bias=value_bias(reproduction),
        **text_settings(reproduction),
    )


def load_identifiability(reproduction: Reproduction) -> xarray.Dataset:
    """Load ranks, null spaces and correlations by length, on single paragraphs, long and short."""
    text, bias = text_source(reproduction), value_bias(reproduction)
    settings = text_settings(reproduction) | {"pairs": False, "value_bias": bias}
    return reproduction.run(
        "survey",
        _paragraphs(text),
        name="identifiability",
        reads=[text],
        measures=("effective",),
        numbers=("null_space",),
        passages=False,
        token_types=0,
        **settings,
    )


def passage(reproduction: Reproduction) -> tuple[str, str]:
    """Return our two paragraphs, or as many of their words as the model takes."""
    texts = FIRST.split(), SECOND.split()
    room = reproduction.model.longest or len(FIRST + SECOND)
    # Our paragraphs are cut together until both fit between the special tokens.
    for share in (1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1):
        first, second = (" ".join(words[: max(1, int(share * len(words)))]) for words in texts)
        if len(reproduction.tokenizer(first, second)["input_ids"]) <= room:
            break
    return first, second


def _paragraphs(source: str) -> Corpus:
    """Yield every paragraph as a document of its own, or its beginning."""
    opened = open_corpus(source)

    def read(_: CorpusCounts) -> Iterator[Document]:
        units = (
            (f"{document.name}#{number}", paragraph)
            for document in opened
            for number, paragraph in enumerate(document.text_paragraphs())
        )
        # The pattern of cuts goes on from document to document, so that lengths are mixed.
        for (name, paragraph), words in zip(units, cycle(BEGINNINGS), strict=False):
            yield Document(name, (" ".join(paragraph.split()[:words]),))

    return Corpus(opened.source, read)


def load_alternatives(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """Load other attention of the same output, of each layer's first head, on a text of ours."""
    sites = reproduction.model.sites_of(reproduction.kind)

    def make(_: Path) -> xarray.Dataset:
        trials = [
            [_try_alternatives(reproduction, site.layer, method) for method in METHODS]
            for site in sites
        ]
        values = {
            name: (
                ("layer", "method"),
                np.array([[trial[name] for trial in row] for row in trials]),
            )
            for name in trials[0][0]
        }
        coordinates = {"layer": [site.layer for site in sites], "method": list(METHODS)}
        return xarray.Dataset(values, coords=coordinates)

    seed = reproduction.settings.seed
    return reproduction.keep(
        "alternatives", "alternatives", make, text=passage(reproduction), seed=seed
    )


def _try_alternatives(
    reproduction: Reproduction[Settings], layer: int, method: str
) -> dict[str, Any]:
    """Measure how many rows of a head can be changed, by how much, and the effect on the model."""
    model, texts = reproduction.model, passage(reproduction)
    place: dict[str, Any] = {"layer": layer, "head": 0, "kind": reproduction.kind}
    whole = model.alternatives(*texts, **place)
    if method == "farthest":
        # Rows are spread over the text; a search in all of them would take too long.
        chosen = np.linspace(0, whole.exists.size - 1, ROWS).astype(int)
        queries = tuple(dict.fromkeys(chosen.tolist()))
        seed = reproduction.settings.seed
        whole = model.alternatives(*texts, **place, method="farthest", queries=queries, seed=seed)
    dataset = whole.dataset
    moved = whole.total_variation.values[:, whole.exists.values]
    return {
        "tokens": dataset.sizes["key"],
        "rank_with_ones": int(dataset["rank_with_ones"].max()),
        "rows": int(dataset["asked"].sum()),
        "changed": int(whole.exists.sum()),
        "mean": float(moved.mean()) if moved.size else np.nan,
        "most": float(moved.max()) if moved.size else np.nan,
        "difference": float(whole.output_difference.max()) if moved.size else np.nan,
        "rounding": float(dataset.attrs["rounding"]),
        "size": float(dataset.attrs["output_size"]),
    }
