"""Mixing ratios over all tokens, by layer, and of kinds of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.exhibit import ExhibitSpec, exhibit
from headlight_papers.papers.kobayashi2021 import published
from headlight_papers.papers.kobayashi2021.results import METHODS, WHOLE, load_mixing, notes_of
from headlight_papers.papers.naming import frame_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter

PAPER = "Kobayashi et al. (2021)"
STATISTICS = {"mean": "mean", "max": "largest", "min": "smallest"}


@exhibit("table-2", "Mixing ratios by five ways of looking", f"{PAPER}, Table 2")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Over the tokens and layers: the mean, the largest, the smallest."""
    found = load_mixing(reproduction)
    frame = overall(found)
    comparisons = [
        Comparison(f"{method}: {name}", getattr(published.TABLE_2[scope], field), ours, "%")
        for scope, (method, numbers) in zip(
            METHODS, frame.set_index("method").iterrows(), strict=True
        )
        for (name, field), ours in zip(STATISTICS.items(), numbers, strict=True)
    ]
    others = ", ".join(
        f"{method} {published.TABLE_2[scope].roberta}%" for scope, method in METHODS.items()
    )
    return Section(
        explanation="The mixing ratio of a token is the length of what other tokens give it, over "
        "that and the length of what it gives itself: by weights (W) or norms (N), of the "
        "attention alone, with the residual connection (RES), and behind the layer norm as well "
        "(LN). Numbers are over all tokens of all layers.",
        tables=[writer.table(frame, "Over the tokens of all layers, in percent", formats=".1f")],
        comparisons=comparisons,
        notes=[f"The paper's means of RoBERTa-base: {others}.", *notes_of(reproduction, found)],
    )


def overall(found: xarray.Dataset) -> pandas.DataFrame:
    """A row for each way of looking, in percent; every layer has as many tokens."""
    seen = found.sel(scope=list(METHODS))
    return pandas.DataFrame(
        {
            "method": list(METHODS.values()),
            "mean": 100 * seen["mixing_mean"].mean("layer").values,
            "max": 100 * seen["mixing_max"].max("layer").values,
            "min": 100 * seen["mixing_min"].min("layer").values,
        }
    )


@dataclass(frozen=True)
class Group:
    """Group of mixing ratios that are shown layer by layer.

    Attributes:
        variable: of the study.
        by: what tells its lines apart.
        explanation: what is to be seen.
        scope: by which way of looking; empty for all.
    """

    variable: str
    by: By
    explanation: str
    scope: str = WHOLE


GROUPS: Mapping[str, Group] = {
    "layers": Group(
        "mixing",
        By("scope", METHODS),
        "The mean over texts of each layer. What the weights show as mixing is, by norms and with "
        "the residual connection, a small part of what a token becomes.",
        scope="",
    ),
    "frequency": Group(
        "mixing_by_frequency",
        By(
            "frequency",
            {1: "1 to 9 times", 10: "10 to 99", 100: "100 to 999", 1000: "1,000 and more"},
        ),
        "By how often the type of the token occurs in this text, without masks.",
    ),
    "masks": Group(
        "mixing_by_state",
        By("state", {"masked": "masked", "given": "not masked"}),
        "A mask token has to take from its context what the model is to predict there. Special "
        "tokens are on neither side.",
    ),
    "categories": Group(
        "mixing_by_category",
        By(
            "category",
            {"cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,", "other": "other tokens"},
        ),
        "By the category of the token that mixes, not of those that are mixed in.",
    ),
}


def of_group(reproduction: Reproduction, writer: ExhibitWriter, name: str) -> Section:
    """The mixing ratio by layer, a line for each member of a group."""
    group = GROUPS[name]
    found = load_mixing(reproduction)
    seen = found.sel(scope=group.scope) if group.scope else found
    labels = present(seen, group)
    ratios = seen[group.variable]
    columns = {label: 100 * ratios.sel({group.by.dim: key}) for key, label in labels.items()}
    said = "; ".join(f"{label} {float(each.mean()):.1f}%" for label, each in columns.items())
    said = f"Means over layers: {said}."
    method = METHODS.get(group.scope, "")
    return Section(
        explanation=group.explanation
        + (f" All by {method}." if method else "")
        + " Intervals: 95%, over documents or texts.",
        drawings=[
            writer.curves(
                seen.sel({group.by.dim: list(labels)}),
                Curve(
                    group.variable,
                    panel="Mixing ratio",
                    by=By(group.by.dim, labels),
                    interval=True,
                    percent=True,
                ),
                caption=f"Mixing ratio by layer{f', {method}' if method else ''}.",
                alternative=said,
            )
        ],
        tables=[writer.table(frame_of(columns), "Mixing ratio in percent", formats=".1f")],
        notes=[said, *notes_of(reproduction, found)],
    )


def present(seen: xarray.Dataset, group: Group) -> dict[Any, str]:
    """The members of a group of which there are tokens, and what they are called."""
    ratios, names = seen[group.variable], group.by.names
    return {
        key: names[key]
        for key in seen[group.by.dim].values.tolist()
        if key in names and bool(ratios.sel({group.by.dim: key}).notnull().any())
    }


layers, frequency, masks, categories = (
    ExhibitSpec(name, title, source, partial(of_group, name=name), needs)
    for name, title, source, needs in (
        ("layers", "Mixing by layer", f"{PAPER}, by layer", ()),
        ("frequency", "Mixing by frequency", f"{PAPER}, by frequency", ()),
        ("masks", "Mixing of masked tokens", f"{PAPER}, masks", ("masks",)),
        ("categories", "Mixing by kind of token", f"Beyond {PAPER}", ()),
    )
)
