"""Mixing ratios by layer: of all tokens, by frequency, of masked tokens, by kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import xarray

from headlight.views.parts import By, Curve, Section
from headlight_papers.papers import kobayashi2021 as published
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2021.mixing_results import (
    METHODS,
    WHOLE,
    load_mixing,
    notes_of,
)
from headlight_papers.papers.reproduction import Reproduction


@dataclass(frozen=True)
class Group:
    """Group of mixing ratios that are shown layer by layer.

    Attributes:
        variable: Variable of the study.
        by: Dimension or category that tells its lines apart.
        explanation: Explanation of the figure.
        scope: Scope of the mixing ratios; empty for all.
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
    """Make the figure of the mixing ratio by layer, a line for each member of a group."""
    group = GROUPS[name]
    result = load_mixing(reproduction)
    selection = result.sel(scope=group.scope) if group.scope else result
    labels = present(selection, group)
    ratios = selection[group.variable]
    columns = {label: 100 * ratios.sel({group.by.dim: key}) for key, label in labels.items()}
    means = "; ".join(f"{label} {float(column.mean()):.1f}%" for label, column in columns.items())
    means = f"Means over layers: {means}."
    method = METHODS.get(group.scope, "")
    return Section(
        explanation=group.explanation
        + (f" All by {method}." if method else "")
        + " Intervals: 95%, over documents or texts.",
        drawings=[
            writer.curves(
                selection.sel({group.by.dim: list(labels)}),
                Curve(
                    group.variable,
                    panel="Mixing ratio",
                    by=By(group.by.dim, labels),
                    interval=True,
                    percent=True,
                ),
                caption=f"Mixing ratio by layer{f', {method}' if method else ''}.",
                alternative=means,
            )
        ],
        tables=[writer.table(frame_of(columns), "Mixing ratio in percent", formats=".1f")],
        notes=[means, *notes_of(reproduction, result)],
    )


def present(result: xarray.Dataset, group: Group) -> dict[Any, str]:
    """Return the members of a group that have tokens, with their printed names."""
    ratios, names = result[group.variable], group.by.names
    return {
        key: names[key]
        for key in result[group.by.dim].values.tolist()
        if key in names and bool(ratios.sel({group.by.dim: key}).notnull().any())
    }


layers, frequency, masks, categories = (
    ExhibitSpec(name, title, source, partial(of_group, name=name), needs)
    for name, title, source, needs in (
        ("layers", "Mixing by layer", f"{published.SOURCE}, by layer", ()),
        ("frequency", "Mixing by frequency", f"{published.SOURCE}, by frequency", ()),
        ("masks", "Mixing of masked tokens", f"{published.SOURCE}, masks", ("masks",)),
        ("categories", "Mixing by kind of token", f"Beyond {published.SOURCE}", ()),
    )
)
