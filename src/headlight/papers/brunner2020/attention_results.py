"""The results that the exhibits of Section 3 share, each made once."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight.alternatives import AlternativeSettings, alternatives
from headlight.analysis.folder import RunFolder
from headlight.corpora import Corpus, CorpusCounts, Document, open_corpus
from headlight.measures import ValueBias
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import text_settings, text_source
from headlight.studies.heads import study as heads
from headlight.studies.heads.settings import SurveySettings
from headlight.studies.identifiability import study as identifiability
from headlight.studies.identifiability.settings import IdentifiabilitySettings

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
"""Every other paragraph is cut to so many words, one after the other."""
PARAGRAPHS = (
    "Correlations, ranks and null spaces are of single paragraphs, every other one cut to its "
    "first 8 to 64 words, so that there are texts of all lengths; the paper's are the segments of "
    "Clark et al."
)

METHODS = ("random", "farthest")
ROWS = 8
"""Rows of a head for which the farthest alternative is looked for."""


def value_bias(study: Study) -> ValueBias:
    """As in the paper, whose T has no value bias; with it where it cannot be told apart."""
    sites = study.model.sites_of(study.kind)
    return "exclude" if all(site.value_bias is not None for site in sites) else "include"


def bias_note(study: Study) -> str:
    """What T is here."""
    if value_bias(study) == "exclude":
        return "T = E W^V H is without the value bias, as in the paper."
    return "T has the value bias in it, which could not be told apart in this model."


def surveyed(study: Study) -> xarray.Dataset:
    """Raw and effective attention to kinds of tokens, on pairs of paragraphs."""

    def make(run: Path) -> xarray.Dataset:
        settings = text_settings(
            study,
            SurveySettings,
            measures=("weight", "effective"),
            value_bias=value_bias(study),
        )
        return heads.run(
            text_source(study),
            study.model,
            settings,
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )

    return study.kept("attention-survey", "survey", make, text=file_state(text_source(study)))


def identified(study: Study) -> xarray.Dataset:
    """Ranks, null spaces and correlations by length, on single paragraphs, long and short."""

    def make(run: Path) -> xarray.Dataset:
        settings = text_settings(
            study, IdentifiabilitySettings, pairs=False, value_bias=value_bias(study)
        )
        return identifiability.run(
            _paragraphs(text_source(study)),
            study.model,
            settings,
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )

    source = file_state(text_source(study))
    return study.kept("identifiability", "identifiability", make, text=source)


def passage(study: Study) -> tuple[str, str]:
    """Our two paragraphs, or as many of their words as the model takes."""
    texts = FIRST.split(), SECOND.split()
    room = study.model.longest or len(FIRST + SECOND)
    for share in (1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1):
        first, second = (" ".join(words[: max(1, int(share * len(words)))]) for words in texts)
        if len(study.tokenizer(first, second)["input_ids"]) <= room:
            break
    return first, second


def _paragraphs(source: str) -> Corpus:
    """Every paragraph as a document of its own, or its beginning."""
    opened = open_corpus(source)

    def read(_: CorpusCounts) -> Iterator[Document]:
        units = (
            (f"{document.name}#{number}", paragraph)
            for document in opened
            for number, paragraph in enumerate(document.paragraphs)
        )
        for (name, paragraph), words in zip(units, cycle(BEGINNINGS), strict=False):
            yield Document(name, (" ".join(paragraph.split()[:words]),))

    return Corpus(opened.source, read)


def counterexamples(study: Study) -> xarray.Dataset:
    """Other attention of the same output, of the first head of every layer, on a text of ours."""

    def make(_: Path) -> xarray.Dataset:
        sites = study.model.sites_of(study.kind)
        found = [[_tried(study, site.layer, method) for method in METHODS] for site in sites]
        names = list(found[0][0])
        values = {
            name: (("layer", "method"), np.array([[each[name] for each in row] for row in found]))
            for name in names
        }
        coordinates = {"layer": [site.layer for site in sites], "method": list(METHODS)}
        return xarray.Dataset(values, coords=coordinates)

    return study.kept("alternatives", "alternatives", make, text=passage(study))


def _tried(study: Study, layer: int, method: str) -> dict[str, Any]:
    """One head: how many rows can be changed, by how much, and what the model says to it."""
    texts = passage(study)
    whole = alternatives(study.model, *texts, place=(layer, 0), kind=study.kind)
    if method == "farthest":
        chosen = np.linspace(0, whole.exists.size - 1, ROWS).astype(int)
        settings = AlternativeSettings(
            method="farthest",
            queries=tuple(dict.fromkeys(chosen.tolist())),
            seed=study.options.seed,
        )
        whole = alternatives(
            study.model, *texts, place=(layer, 0), kind=study.kind, settings=settings
        )
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
