"""Alignment error rates of heads, and soft alignments of translations (Figures 8 and 13 to 17)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Literal

import numpy as np
import pandas
import xarray

from headlight.corpora import SAMPLE_LINKS, SAMPLE_TRANSLATIONS, TranslationPair, open_parallel
from headlight.findings.estimates import Estimate, estimates
from headlight.links import Gold, open_links
from headlight.views.parts import By, Comparison, Curve, Drawing, Section, Table
from headlight.views.parts.alignment_drawings import DrawnAlignment, alignment_picture
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, head_name
from headlight_papers.papers.kobayashi2020 import Settings, published
from headlight_papers.papers.kobayashi2020.aligners import (
    STEPS,
    aligned_of,
    alignment_notes,
    load_attention,
    rates_by_method,
    translator_note,
    translator_of,
)
from headlight_papers.papers.reproduction import Reproduction

exhibit = exhibits_of(published.SOURCE)


@exhibit("head-aer", "Section 5 of the version at EMNLP", "translator", "gold")
def head_aer(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Error rates and mean norms of heads."""
    result = load_attention(reproduction)
    titles = {step: f"{name}: ρ = {spearman(result, step):.2f}" for step, name in STEPS.items()}
    summaries = [
        f"with {name} ρ = {spearman(result, step):.2f}, and layer {highest_layer(result)[0] + 1}, "
        f"which has the highest mean norm, an error rate of {highest_layer(result, step)[1]:.1%}"
        for step, name in STEPS.items()
    ]
    note = f"Over {int(result['head_mean_norm'].notnull().sum())} heads, {'; '.join(summaries)}."
    return Section(
        explanation="Each dot is a head: the mean norm of what it moves, over all places of source "
        "and target, and the alignment error rate of its norms. Where ρ is negative, heads that "
        "move much link words well, and a layer or head can be chosen without gold links.",
        drawings=[
            writer.curves(
                result.sel(measure="norm"),
                Curve(
                    "head_error_rate",
                    "layer {layer}",
                    "{step}",
                    by=(By("step", titles), "layer"),
                    over="head_mean_norm",
                    x_label="mean ‖αf(x)‖",
                    y_label="AER",
                    percent=True,
                    ordered=True,
                    joined=False,
                ),
                caption="All heads, by layer.",
                alternative=note,
                columns=2,
            )
        ],
        tables=[_table(result, writer)],
        comparisons=list(_comparisons(result)),
        notes=[note, *alignment_notes(reproduction)],
    )


def spearman(result: xarray.Dataset, step: str) -> float:
    """Spearman's ρ between error rate and mean norm, over the heads that link anything."""
    frame = pandas.DataFrame(
        {
            "norm": result["head_mean_norm"].values.ravel(),
            "rate": result["head_error_rate"].sel(measure="norm", step=step).values.ravel(),
        }
    )
    ranks = frame.dropna().rank()
    return float(ranks["norm"].corr(ranks["rate"]))


def highest_layer(result: xarray.Dataset, step: str = "input") -> tuple[int, Estimate]:
    """The layer with the highest mean norm, from 0, and its error rate."""
    highest = int(result["mean_norm"].fillna(-np.inf).argmax("layer"))
    cell = result.sel(measure="norm", step=step).isel(layer=highest)
    return int(cell["layer"]), estimates(cell, "error_rate", ())


def highest_head(result: xarray.Dataset, step: str) -> tuple[str, Estimate]:
    """The head with the highest mean norm, by the paper's name, and its error rate."""
    place = result["head_mean_norm"].argmax(("layer", "head"))
    cell = result.sel(measure="norm", step=step).isel(place)
    return head_name(int(cell["layer"]), int(cell["head"])), estimates(cell, "head_error_rate", ())


def _table(result: xarray.Dataset, writer: ExhibitWriter) -> Table:
    rates = rates_by_method(result, "head_error_rate")
    columns = {"mean norm": result["head_mean_norm"], **rates}
    frame = frame_of(columns).sort_values("mean norm", ascending=False, ignore_index=True)
    return writer.table(
        frame[["head", *columns]],
        "All heads, those of the highest mean norm first: error rates in percent",
        formats={"mean norm": ".2f", **dict.fromkeys(rates, ".1f")},
    )


def _comparisons(result: xarray.Dataset) -> Iterator[Comparison]:
    five = "there five translators (EMNLP 2020)"
    for step, name in STEPS.items():
        yield Comparison(
            f"ρ of error rate and mean norm, {name}",
            published.HEAD_SPEARMAN[step],
            spearman(result, step),
            digits=2,
            note=five,
        )
    for kind in ("layer", "head"):
        for step, name in STEPS.items():
            layer, of_layer = highest_layer(result, step)
            head, of_head = highest_head(result, step)
            place, rate = (layer + 1, of_layer) if kind == "layer" else (head, of_head)
            yield Comparison(
                f"AER of the {kind} of the highest mean norm, {name}",
                published.HIGHEST_NORM[kind, step],
                100 * float(rate.value),
                note=f"{five}, here {kind} {place}",
            )


DRAWN = 2
"""Translations that are drawn."""
MOST_WORDS = 16
"""Largest number of words in a sentence of a corpus that is drawn."""
SECOND = 1
"""The layer of Figure 8, from 0: the paper's best one by norms."""
MEASURES: tuple[Literal["weight", "norm"], ...] = ("weight", "norm")


Example = tuple[TranslationPair, Gold]
"""A translation, and the gold links of its words."""


@exhibit("figure-8", "Figure 8 and Section 5", "translator")
def figure_8(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Soft alignments in layer 2."""
    return _soft_alignments(reproduction, writer, second=True)


@exhibit("figure-13", "Figures 13 to 17 and Appendix E", "translator")
def figure_13(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Soft alignments in the other layers."""
    return _soft_alignments(reproduction, writer, second=False)


def _soft_alignments(
    reproduction: Reproduction[Settings], writer: ExhibitWriter, *, second: bool
) -> Section:
    every = [site.layer for site in translator_of(reproduction).sites_of("cross")]
    layers = [layer for layer in every if (layer == SECOND) == second]
    if second and not layers:
        layers = every[:1]
    examples = list(islice(_examples(reproduction), DRAWN))
    pictures = [
        picture for layer in layers for picture in _pictures(reproduction, writer, layer, examples)
    ]
    source = (
        "The translations are of the sample that comes with the package, from German to English."
        if reproduction.settings.drawn == "sample"
        else f"The translations are the first of at most {MOST_WORDS} words on either side."
    )
    return Section(
        explanation="Every row is a target word, and shows its shares of the source words, by the "
        "mean weight of the heads and by the norm of what they move together; what special tokens "
        "have is not shown. The gold links are framed. The row is that of the step which reads the "
        "word (AWI).",
        drawings=pictures,
        notes=[source, translator_note(reproduction)],
    )


def _examples(reproduction: Reproduction[Settings]) -> list[Example]:
    if reproduction.settings.drawn == "sample" or reproduction.sources.aligned is None:
        pairs = list(open_parallel(SAMPLE_TRANSLATIONS))
        gold = list(open_links(SAMPLE_LINKS, sentences=len(pairs)))
    else:
        aligned = aligned_of(reproduction)
        pairs, gold = aligned.pairs, aligned.gold
    return [
        (pair, links)
        for pair, links in zip(pairs, gold, strict=True)
        if 0 < max(len(pair.source.split()), len(pair.target.split())) <= MOST_WORDS
    ]


def _pictures(
    reproduction: Reproduction, writer: ExhibitWriter, layer: int, examples: Sequence[Example]
) -> list[Drawing]:
    links = {}
    for measure in MEASURES:
        pairs = [pair for pair, _ in examples]
        aligned = translator_of(reproduction).align(pairs, measure=measure, layer=layer)
        links[measure] = list(aligned)
    pictures = []
    for number, (pair, gold) in enumerate(examples):
        soft = {measure: each[number].soft for measure, each in links.items()}
        drawn = DrawnAlignment(
            pair.name,
            pair.source.split(),
            pair.target.split(),
            {measure: matrix for measure, matrix in soft.items() if matrix is not None},
            links["norm"][number].links,
            gold.possible,
        )
        name = f"layer-{layer + 1}-{number + 1}"
        writer.keep(_frame(drawn), name)
        caption = f"Layer {layer + 1}: {pair.source} → {pair.target}"
        pictures.append(
            writer.picture(
                partial(alignment_picture, drawn),
                caption,
                f"Soft alignments by weight and by norm. {caption}",
                name,
            )
        )
    return pictures


def _frame(drawn: DrawnAlignment) -> pandas.DataFrame:
    """A row for each pair of words, with its shares and whether people linked it."""
    rows = []
    for target, target_word in enumerate(drawn.target):
        for source, source_word in enumerate(drawn.source):
            shares = {name: float(soft[target, source]) for name, soft in drawn.soft.items()}
            linked = drawn.gold is not None and (source, target) in drawn.gold
            words = {"target": target_word, "source": source_word}
            rows.append({**words, **shares, "gold": "yes" if linked else "no"})
    return pandas.DataFrame(rows)
