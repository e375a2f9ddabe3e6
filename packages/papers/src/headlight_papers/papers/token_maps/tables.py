"""Exhibits of papers on maps: what maps agree with, and what the removal of tokens costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan

import pandas
import xarray

from headlight.result.estimate import Estimate
from headlight.views.numbers import MISSING
from headlight.views.parts import By, Comparison, Curve, Drawing, Section
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.token_maps.results import caveat_of, load_maps, notes_of, score
from headlight_papers.papers.token_maps.settings import MapTable
from headlight_papers.papers.writer import ExhibitWriter

LABELS = {
    "weight": "weights, last layer",
    "merged_norm": "norms, last layer",
    "rollout": "rollout of weights",
    "rollout_norm": "rollout of norms",
    "rollout_block_norm": "rollout of norms, residual",
    "rollout_layer_norm": "rollout of norms, residual, norm",
    "globenc": "GlobEnc",
    "alti": "ALTI",
    "value_zeroing": "Value Zeroing",
    "decompx": "DecompX, lengths of vectors",
    "prediction": "DecompX, parts of the logit",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
    "random": "random order",
}
"""What maps are called, in the order of tables."""

AGREEMENT = {"gradient_input": "ρ, gradient × input", "leave_one_out": "ρ, leave one out"}
REMOVAL = {"comprehensiveness": "AOPC", "sufficiency": "sufficiency"}

JUDGED = "Each number is a mean over texts, with its interval of 95%, over documents or texts."


@dataclass(frozen=True)
class Kind:
    """Kind of table: its questions and their explanation.

    Attributes:
        title: of the exhibit.
        questions: its columns, and what they are called.
        explanation: of the numbers.
        drawn: whether there are curves beside it.
    """

    title: str
    questions: Mapping[str, str]
    explanation: str
    drawn: bool = False


KINDS = {
    "agreement": Kind(
        "How maps agree with gradients and with leaving tokens out",
        AGREEMENT,
        "Spearman's ρ, over the tokens of a text, of a map with the size of gradient × input, and "
        f"with what the probability loses without each token. {JUDGED}",
    ),
    "removal": Kind(
        "What is lost without the tokens that a map puts first",
        REMOVAL,
        "AOPC: what the probability loses without the most important tokens, the mean over 10, 20, "
        "…, 90% of them; the more, the better the map. Sufficiency: the same of the least "
        f"important; the less, the better. {JUDGED}",
        drawn=True,
    ),
}
"""By `MapTable.shows`."""


def table_exhibit(asked: MapTable) -> ExhibitSpec:
    """The exhibit of a table."""
    kind = KINDS[asked.shows]
    make = partial(_table, kind=kind, published=asked.published)
    return ExhibitSpec(asked.name, kind.title, asked.source, make)


def _table(
    reproduction: Reproduction, writer: ExhibitWriter, kind: Kind, published: Mapping[str, str]
) -> Section:
    found = load_maps(reproduction)
    names = names_of(found)
    frame = pandas.DataFrame(
        {"map": [LABELS[name] for name in names]}
        | {
            label: [_shown(score(found, question, name)) for name in names]
            for question, label in kind.questions.items()
        }
    )
    first, label = next(iter(kind.questions.items()))
    comparisons = [
        Comparison(
            f"{LABELS[name]}: {label}", there, float(score(found, first, name).value), digits=2
        )
        for name, there in published.items()
        if name in names
    ]
    pictures = [_curves(writer, found, names)] if kind.drawn else []
    return Section(
        explanation=f"{caveat_of(reproduction)}{kind.explanation}",
        drawings=pictures,
        tables=[writer.table(frame, "Maps of the same texts")],
        comparisons=comparisons,
        notes=notes_of(reproduction, found),
    )


def _shown(number: Estimate) -> str:
    """With its interval; a map has no agreement with itself."""
    return MISSING if isnan(number.value) else f"{number:.3f}"


def _curves(writer: ExhibitWriter, found: xarray.Dataset, names: Sequence[str]) -> Drawing:
    labels = {name: LABELS[name] for name in names}
    last = found["lost"].isel(share=-1)
    said = "; ".join(f"{labels[name]} {float(last.sel(map=name)):.2f}" for name in names)
    return writer.curves(
        found.sel(map=list(names)),
        Curve(
            "lost",
            panel="p lost",
            by=By("map", labels),
            over="share",
            x_label="share of the tokens that is removed",
            dashed=("random",),
        ),
        caption="What the probability loses without the most important tokens, mean over texts.",
        alternative=f"Without 90%: {said}.",
    )


def names_of(found: xarray.Dataset) -> list[str]:
    """The maps of a result, in the order of tables."""
    there = {str(name) for name in found["map"].values}
    return [name for name in LABELS if name in there]
