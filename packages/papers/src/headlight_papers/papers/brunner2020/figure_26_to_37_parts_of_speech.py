"""Figures 26 to 37: contributions of a token's own input, by part of speech."""

from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.encode import sentences
from headlight.views.parts import By, Comparison, Section
from headlight.vocabulary import CATEGORIES
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.brunner2020.contribution_results import (
    contribution_settings,
    draw_boxes,
    method_note,
)
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import percent
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import layer_names
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.corpora import open_treebank


def load_contributions_by_tags(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """Load contributions on the first sentences of the first treebank, by part of speech."""
    chosen, source = reproduction.settings, reproduction.sources.dependency[0]
    treebank = open_treebank(source, invalid="skip")
    first = next(iter(treebank), None)
    has_xpos = first is not None and any(tag != "_" for tag in first.xpos)
    tags = "xpos" if has_xpos else "upos"
    examples = sentences(
        treebank,
        reproduction.tokenizer,
        max_length=reproduction.max_length,
        overflow="skip",
        unencodable="skip" if chosen.invalid == "skip" else "error",
    )
    result = reproduction.run(
        "attribution",
        examples,
        reads=[source, [reproduction.max_length, chosen.invalid]],
        name="contributions-by-tags",
        max_examples=chosen.max_sentences or chosen.max_pairs,
        exact=0,
        tags=tags,
        **contribution_settings(reproduction),
    )
    return result.assign_attrs(tags=tags)


CONTENT = (
    "NN",
    "NNS",
    "NNP",
    "NNPS",
    "VB",
    "VBD",
    "VBG",
    "VBN",
    "VBP",
    "VBZ",
    "JJ",
    "JJR",
    "JJS",
    "RB",
    "RBR",
    "RBS",
    "NOUN",
    "PROPN",
    "VERB",
    "ADJ",
    "ADV",
)
"""Nouns, verbs, adjectives and adverbs, of the Penn Treebank and of Universal Dependencies."""

FUNCTION = (
    "DT",
    "PDT",
    "WDT",
    "IN",
    "PRP",
    "PRP$",
    "WP",
    "WP$",
    "CC",
    "TO",
    "POS",
    "SYM",
    "RP",
    "DET",
    "ADP",
    "PRON",
    "CCONJ",
    "SCONJ",
    "PART",
)
"""Determiners, prepositions, pronouns, conjunctions, particles and symbols."""

FEWEST = 20
"""Number of tokens below which a part of speech is in the table alone."""

GROUPS = ("all", *CATEGORIES)
"""Groups of tokens that every text has, before those of parts of speech."""

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}


@exhibit("figure-26", "Figures 26 to 37 and Appendix C.5", "dependency")
def figure_26(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Contribution of a token to itself, by part of speech (Figures 26 to 37)."""
    result = load_contributions_by_tags(reproduction)
    source = Path(reproduction.sources.dependency[0])
    groups = ordered_groups(result)
    return Section(
        explanation="As Figure 3a, for the pieces of words of each part of speech, ordered by the "
        f"last layer's median. Parts of speech with fewer than {FEWEST} pieces are not drawn.",
        drawings=[
            writer.picture(
                draw_boxes(
                    result["own_box"].sel(group=groups),
                    By("group", SPECIAL),
                    panel="Layer {layer}",
                    by="layer",
                    columns=1 if len(groups) > 16 else 2,
                ),
                "Own contributions by part of speech, layer by layer.",
                f"Order in the last layer: {', '.join(SPECIAL.get(tag, tag) for tag in groups)}.",
            )
        ],
        tables=[writer.table(_medians(result), "Median own contribution by layer, in percent")],
        comparisons=_tags_comparisons(result, groups),
        notes=[
            model_note(reproduction),
            f"The treebank is {result.attrs['examples']} sentences of {source.name} with its own "
            f"{result.attrs['tags'].upper()} tags; the paper's are MRPC, tagged by the Stanford "
            "tagger, and it does not say how pieces of words are counted: here each piece has the "
            "tag of its word.",
            method_note(reproduction, result),
        ],
    )


def ordered_groups(result: xarray.Dataset) -> list[str]:
    """Sort frequent parts of speech and special tokens by the last layer's median."""
    medians = result["own_box"].sel(mark="median").isel(layer=-1)
    names = _tags(result)
    candidates = [*SPECIAL, *names]
    frequent = [
        name for name in candidates if int(result["own_count"].sel(group=name)) >= FEWEST
    ] or names
    return sorted(frequent, key=lambda name: -float(medians.sel(group=name)))


def _tags(result: xarray.Dataset) -> list[str]:
    return [str(name) for name in result["group"].values[len(GROUPS) :]]


def _medians(result: xarray.Dataset) -> pandas.DataFrame:
    """Return the medians of all groups, the largest of the last layer first."""
    medians = 100 * result["own_box"].sel(mark="median")
    names = [*SPECIAL, *_tags(result)]
    names.sort(key=lambda name: -np.nan_to_num(float(medians.sel(group=name).isel(layer=-1))))
    frame = pandas.DataFrame(
        medians.sel(group=names).transpose("group", "layer").values,
        columns=[f"layer {name}" for name in layer_names(result)],
    )
    frame.insert(0, "group", [SPECIAL.get(name, name) for name in names])
    frame.insert(1, "tokens", result["own_count"].sel(group=names).values.astype(int))
    return frame


def _tags_comparisons(result: xarray.Dataset, groups: list[str]) -> list[Comparison]:
    """Return the paper's statements on the first and on the last layer beside the numbers here."""
    medians = result["own_box"].sel(mark="median")
    first, last = medians.isel(layer=0), medians.isel(layer=-1)
    speech = [float(first.sel(group=name)) for name in groups if name not in SPECIAL]
    content, function = (_mean(result, last, names) for names in (CONTENT, FUNCTION))
    has_class = int(result["own_count"].sel(group="cls")) > 0
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


def _mean(
    result: xarray.Dataset, medians: xarray.DataArray, names: tuple[str, ...]
) -> float | None:
    """Average the medians of some parts of speech, weighted by their frequency."""
    present = [name for name in names if name in result["group"].values]
    weight = result["own_count"].sel(group=present)
    if not present or float(weight.sum()) == 0:
        return None
    return float((medians.sel(group=present) * weight).sum() / weight.sum())
