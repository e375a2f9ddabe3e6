"""Section 5.2, Appendix C.5: contributions of a token's own input (Figures 3, 26 to 37, 40, 42)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.corpora import open_treebank
from headlight.encode import sentences
from headlight.views.parts import By, Comparison, Curve, Figure, Section
from headlight.views.parts.box_plots import boxes_of
from headlight.vocabulary import CATEGORIES
from headlight_papers.papers.brunner2020 import Settings, claims, published
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit import (
    ExhibitWriter,
    as_printed,
    exhibits_of,
    layer_names,
    percent,
    yes_or_no,
)
from headlight_papers.papers.reproduction import Reproduction, model_note

exhibit = exhibits_of(published.SOURCE)


def load_contributions(reproduction: Reproduction[Settings], pairs: PairSet) -> xarray.Dataset:
    """Load the contributions of input tokens on a set of sentence pairs; exact ones on some."""
    main = pairs == find_pair_set(reproduction)
    exact = reproduction.settings.exact_pairs if main else 0
    return reproduction.run(
        "attribution",
        pairs.pairs,
        max_length=pairs.length,
        reads=pairs.reads,
        name=f"contributions-{pairs.name}",
        exact=exact,
        **contribution_settings(reproduction),
    )


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


def contribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """Return the settings by which contributions are computed."""
    return {
        "kind": reproduction.model.kinds[0],
        "attribution": attribution_settings(reproduction),
        "seed": reproduction.settings.seed,
    }


def attribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """An estimate from random directions, as many as the settings say."""
    chosen = reproduction.settings
    return {"directions": chosen.directions, "seed": chosen.seed, "precision": "medium"}


def counterparts(result: xarray.Dataset) -> dict[int, int]:
    """The layers of BERT-base that are compared, and ours at the same depth; both from 1."""
    layers, paper = result.sizes["layer"], published.LAYERS
    return {theirs: max(1, round(theirs * layers / paper)) for theirs in (1, 6, paper)} | {1: 1}


def shown_layers(result: xarray.Dataset) -> list[int]:
    """The first, the middle and the last layer, zero-based."""
    return sorted({layer - 1 for layer in counterparts(result).values()})


def contribution_notes(
    reproduction: Reproduction, pairs: PairSet, result: xarray.Dataset
) -> list[str]:
    """Return notes on how model, data and method differ from the paper's."""
    read = pairs.note(int(result.attrs["examples"]), int(result.attrs["tokens"]))
    method = method_note(reproduction, result)
    return [model_note(reproduction), read, method, *agreement_notes(result)]


def method_note(reproduction: Reproduction[Settings], result: xarray.Dataset) -> str:
    """Return the note on how contributions were computed."""
    own = float(result["own_mean"].sel(group="all").mean())
    error = float(result["own_estimate_error"].mean()) / own
    return (
        "The size of a derivative is the Frobenius norm of the Jacobian of the hidden token by the "
        "input embedding; the paper does not say which norm it took. Contributions are estimated "
        f"from {reproduction.settings.directions} random directions for each input token: that of "
        f"one token to itself with a standard error of {100 * error:.1f}% on average. Products of "
        "matrices may be rounded to bfloat16."
    )


def agreement_notes(run: xarray.Dataset) -> list[str]:
    """Return notes on how near the estimate came to the exact contributions."""
    if not run.attrs["exact_examples"]:
        return []
    kinds = ("exact", "estimated")
    exact, estimate = (run[f"{kind}_own_box"].sel(mark="median") for kind in kinds)
    apart = float(abs(estimate - exact).max())
    shares = (run[f"{kind}_not_largest"].mean() for kind in kinds)
    largest, guessed = (f"{100 * float(share):.1f}%" for share in shares)
    return [
        f"On {run.attrs['exact_examples']} short examples contributions were computed exactly as "
        "well: the estimate of a single one is off by "
        f"{100 * float(run['exact_relative'].mean()):.1f}% on average, and correlates with it at "
        f"{float(run['exact_correlation'].min()):.3f} or more in every layer; medians of own "
        f"contributions are at most {100 * apart:.2f} percentage points apart, and tokens that are "
        f"not their largest contributor are {largest} exactly and {guessed} by the estimate."
    ]


def draw_boxes(marks: xarray.DataArray, box: By | str, **more: Any) -> Callable[[], Figure]:
    """Boxes of contributions on an axis from 0 to a little above the highest whisker."""
    top = min(1.0, 1.05 * float(marks.sel(mark="high").max()))
    printed, limits = as_printed(marks.to_dataset()), (0.0, top)
    return boxes_of(
        printed, "own_box", box, colour="attribution", percent=True, limits=limits, **more
    )


def own_contribution(
    reproduction: Reproduction, writer: ExhibitWriter, name: str | None
) -> Section:
    """Return the section of own contributions, and of tokens of which another gives most."""
    pairs = find_pair_set(reproduction, name)
    result = load_contributions(reproduction, pairs)
    frame = _by_layer(result)
    return Section(
        explanation="What an input token contributes to the hidden token in its own place: its "
        "share of all that the hidden token depends on. A box is the middle half of all tokens, "
        "special ones included, the line in it the median; outliers are not shown. Below: the "
        "share of tokens of which some other token contributes more than they do themselves.",
        drawings=[
            writer.picture(
                draw_boxes(
                    result["own_box"].sel(group="all", drop=True),
                    "layer",
                    panel="Own contribution",
                    x_label="layer",
                ),
                f"(a) Contribution of input tokens to their own hidden tokens, {pairs.title}.",
                _alternative("Medians", frame["median"]),
                name="a",
            ),
            writer.curves(
                result,
                Curve(
                    "not_largest",
                    panel="Not the main contributor",
                    interval=True,
                    percent=True,
                    colour="attribution",
                    marked=True,
                ),
                caption="(b) Share of tokens that are not the main contributors to their hidden "
                "tokens.",
                alternative=_alternative("Shares", frame["not largest"]),
                name="b",
            ),
        ],
        tables=[writer.table(frame, "By layer, in percent", formats=".2f")],
        comparisons=_comparisons(result, frame, pairs),
        notes=contribution_notes(reproduction, pairs, result),
    )


figure_3, figure_40, figure_42 = figures_of_sets(
    own_contribution,
    "Contribution of a token to itself",
    (3, None, "Section 5.2"),
    (40, "cola", "Appendix D.2.1"),
    (42, "mnli", "Appendix D.2.2"),
)


def _by_layer(result: xarray.Dataset) -> pandas.DataFrame:
    box = 100 * result["own_box"].sel(group="all")
    every = result.sel(group="all")
    return pandas.DataFrame(
        {
            "layer": result["layer"].values + 1,
            "median": box.sel(mark="median").values,
            "1st quartile": box.sel(mark="first").values,
            "3rd quartile": box.sel(mark="third").values,
            "mean": 100 * every["own_mean"].values,
            "not largest": 100 * result["not_largest"].values,
        }
    )


def _alternative(what: str, values: "pandas.Series[float]") -> str:
    return f"{what} by layer: " + ", ".join(f"{value:.1f}%" for value in values) + "."


def _comparisons(
    result: xarray.Dataset, frame: pandas.DataFrame, pairs: PairSet
) -> list[Comparison]:
    """Medians and shares at three depths, and how they change with depth."""
    rows = frame.set_index("layer")
    is_papers = pairs.task == "mrpc"
    compared = []
    for theirs, ours in counterparts(result).items():
        note = f"layer {theirs} of 12 there, layer {ours} of {len(frame)} here"
        for quantity, column, numbers in (
            ("median own contribution", "median", published.OWN_MEDIANS),
            ("tokens that are not their main contributor", "not largest", published.NOT_LARGEST),
        ):
            compared.append(
                Comparison(
                    f"{quantity}, layer {theirs}",
                    numbers[theirs] if is_papers else None,
                    percent(float(rows[column][ours]) / 100),
                    "%",
                    note if is_papers else f"{note}; the paper gives numbers for MRPC alone",
                )
            )
    grows = (np.diff(frame["not largest"]) >= 0).all()
    return [
        *compared,
        claims.mixes(result).comparison,
        Comparison(
            "ever more tokens are not their main contributor",
            "yes",
            yes_or_no(grows),
            note=", ".join(f"{share:.1f}%" for share in frame["not largest"]) + " by layer",
        ),
    ]


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
"""A part of speech with fewer tokens is in the table alone."""

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
    """Parts of speech and special tokens that are frequent, by the last layer's median."""
    medians = result["own_box"].sel(mark="median").isel(layer=-1)
    names = _tags(result)
    candidates = [*SPECIAL, *names]
    frequent = [
        name for name in candidates if int(result["own_count"].sel(group=name)) >= FEWEST
    ] or names
    return sorted(frequent, key=lambda name: -float(medians.sel(group=name)))


def _tags(result: xarray.Dataset) -> list[str]:
    """The groups that are parts of speech, which come after those that every text has."""
    return [str(name) for name in result["group"].values[len(GROUPS) :]]


def _medians(result: xarray.Dataset) -> pandas.DataFrame:
    """All groups, the largest of the last layer first."""
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
    """The mean of the medians of some parts of speech, each as heavy as it is frequent."""
    present = [name for name in names if name in result["group"].values]
    weight = result["own_count"].sel(group=present)
    if not present or float(weight.sum()) == 0:
        return None
    return float((medians.sel(group=present) * weight).sum() / weight.sum())
