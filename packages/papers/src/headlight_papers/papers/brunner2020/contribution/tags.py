"""Appendix C.5: own contributions by part of speech (Figures 26 to 37)."""

from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.views.parts import By, Comparison, Section
from headlight.vocabulary import CATEGORIES
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.contribution.own import draw_boxes
from headlight_papers.papers.brunner2020.contribution.results import (
    load_contributions_by_tags,
    method_note,
)
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.naming import layer_names, percent
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_note
from headlight_papers.papers.writer import ExhibitWriter

CONTENT = (
    "NN", "NNS", "NNP", "NNPS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "JJ", "JJR", "JJS",
    "RB", "RBR", "RBS", "NOUN", "PROPN", "VERB", "ADJ", "ADV",
)  # fmt: skip
"""Nouns, verbs, adjectives and adverbs, of the Penn Treebank and of Universal Dependencies."""

FUNCTION = (
    "DT", "PDT", "WDT", "IN", "PRP", "PRP$", "WP", "WP$", "CC", "TO", "POS", "SYM", "RP",
    "DET", "ADP", "PRON", "CCONJ", "SCONJ", "PART",
)  # fmt: skip
"""Determiners, prepositions, pronouns, conjunctions, particles and symbols."""

FEWEST = 20
"""A part of speech with fewer tokens is in the table alone."""

GROUPS = ("all", *CATEGORIES)
"""Groups of tokens that every text has, before those of parts of speech."""

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}


@exhibit(
    "figure-26",
    "Contribution of a token to itself, by part of speech (Figures 26 to 37)",
    "Brunner et al. (2020), Figures 26 to 37 and Appendix C.5",
    ("dependency",),
)
def figure_26(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Own contributions by part of speech, in every layer."""
    found = load_contributions_by_tags(reproduction)
    source = Path(reproduction.sources.dependency[0])
    groups = ordered_groups(found)
    return Section(
        explanation="As Figure 3a, for the pieces of words of each part of speech, ordered by the "
        f"last layer's median. Parts of speech with fewer than {FEWEST} pieces are not drawn.",
        drawings=[
            writer.picture(
                draw_boxes(
                    found["own_box"].sel(group=groups),
                    By("group", SPECIAL),
                    panel="Layer {layer}",
                    by="layer",
                    columns=1 if len(groups) > 16 else 2,
                ),
                "Own contributions by part of speech, layer by layer.",
                f"Order in the last layer: {', '.join(map(_label, groups))}.",
            )
        ],
        tables=[writer.table(_medians(found), "Median own contribution by layer, in percent")],
        comparisons=_comparisons(found, groups),
        notes=[
            model_note(reproduction),
            f"The treebank is {found.attrs['examples']} sentences of {source.name} with its own "
            f"{found.attrs['tags'].upper()} tags; the paper's are MRPC, tagged by the Stanford "
            "tagger, and it does not say how pieces of words are counted: here each piece has the "
            "tag of its word.",
            method_note(reproduction, found),
        ],
    )


def ordered_groups(found: xarray.Dataset) -> list[str]:
    """Parts of speech and special tokens that are frequent, by the last layer's median."""
    medians = found["own_box"].sel(mark="median").isel(layer=-1)
    names = _tags(found)
    candidates = [*SPECIAL, *names]
    frequent = [
        name for name in candidates if int(found["own_count"].sel(group=name)) >= FEWEST
    ] or names
    return sorted(frequent, key=lambda name: -float(medians.sel(group=name)))


def _tags(found: xarray.Dataset) -> list[str]:
    """The groups that are parts of speech, which come after those that every text has."""
    return [str(name) for name in found["group"].values[len(GROUPS) :]]


def _label(group: str) -> str:
    return SPECIAL.get(group, group)


def _medians(found: xarray.Dataset) -> pandas.DataFrame:
    """All groups, the largest of the last layer first."""
    medians = 100 * found["own_box"].sel(mark="median")
    names = [*SPECIAL, *_tags(found)]
    names.sort(key=lambda name: -np.nan_to_num(float(medians.sel(group=name).isel(layer=-1))))
    frame = pandas.DataFrame(
        medians.sel(group=names).transpose("group", "layer").values,
        columns=[f"layer {name}" for name in layer_names(found)],
    )
    frame.insert(0, "group", list(map(_label, names)))
    frame.insert(1, "tokens", found["own_count"].sel(group=names).values.astype(int))
    return frame


def _comparisons(found: xarray.Dataset, groups: list[str]) -> list[Comparison]:
    """Return the paper's statements on the first and on the last layer beside the numbers here."""
    medians = found["own_box"].sel(mark="median")
    first, last = medians.isel(layer=0), medians.isel(layer=-1)
    speech = [float(first.sel(group=name)) for name in groups if name not in SPECIAL]
    content, function = (_mean(found, last, names) for names in (CONTENT, FUNCTION))
    has_class = int(found["own_count"].sel(group="cls")) > 0
    return [
        Comparison(
            "layer 1: median of [CLS]",
            f"> {published.FIRST_LAYER_CLASS:g}%",
            percent(float(first.sel(group="cls"))) if has_class else None,
            "%",
        ),
        Comparison(
            "layer 1: largest median of a part of speech",
            f"< {published.FIRST_LAYER_REST:g}%",
            percent(max(speech)),
            "%",
        ),
        Comparison(
            "last layer: nouns, verbs, adjectives, adverbs minus determiners, prepositions, "
            "pronouns and their like",
            "> 0",
            None if content is None or function is None else 100 * (content - function),
            "%",
            "medians, averaged over tokens",
            digits=2,
        ),
    ]


def _mean(found: xarray.Dataset, medians: xarray.DataArray, names: tuple[str, ...]) -> float | None:
    """The mean of the medians of some parts of speech, each as heavy as it is frequent."""
    there = [name for name in names if name in found["group"].values]
    weight = found["own_count"].sel(group=there)
    if not there or float(weight.sum()) == 0:
        return None
    return float((medians.sel(group=there) * weight).sum() / weight.sum())
