"""Section 5.2: how much of a hidden token is its own input token (Figures 3, 40 and 42)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Figure, Section, boxes_of
from headlight_papers.papers.brunner2020 import claims, published
from headlight_papers.papers.brunner2020.contribution.results import (
    contribution_notes,
    counterparts,
    load_contributions,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.naming import as_printed, percent, yes_or_no
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter


def draw_boxes(marks: xarray.DataArray, box: By | str, **more: Any) -> Callable[[], Figure]:
    """Boxes of contributions on an axis from 0 to a little above the highest whisker."""
    top = min(1.0, 1.05 * float(marks.sel(mark="high").max()))
    found, limits = as_printed(marks.to_dataset()), (0.0, top)
    return boxes_of(
        found, "own_box", box, colour="attribution", percent=True, limits=limits, **more
    )


def own_contribution(
    reproduction: Reproduction, writer: ExhibitWriter, name: str | None
) -> Section:
    """Boxes of own contributions, and the share of tokens of which another contributes most.

    Args:
        reproduction: on which model and data.
        writer: of the files.
        name: of the set of pairs; None for the first.
    """
    pairs = find_pair_set(reproduction, name)
    found = load_contributions(reproduction, pairs)
    frame = _by_layer(found)
    return Section(
        explanation="What an input token contributes to the hidden token in its own place: its "
        "share of all that the hidden token depends on. A box is the middle half of all tokens, "
        "special ones included, the line in it the median; outliers are not shown. Below: the "
        "share of tokens of which some other token contributes more than they do themselves.",
        drawings=[
            writer.picture(
                draw_boxes(
                    found["own_box"].sel(group="all", drop=True),
                    "layer",
                    panel="Own contribution",
                    x_label="layer",
                ),
                f"(a) Contribution of input tokens to their own hidden tokens, {pairs.title}.",
                _alternative("Medians", frame["median"]),
                name="a",
            ),
            writer.curves(
                found,
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
        tables=[
            writer.table(
                frame,
                "By layer, in percent",
                formats=".2f",
            )
        ],
        comparisons=_comparisons(found, frame, pairs),
        notes=contribution_notes(reproduction, pairs, found),
    )


figure_3, figure_40, figure_42 = figures_of_sets(
    own_contribution,
    "Contribution of a token to itself",
    (3, None, "Section 5.2"),
    (40, "cola", "Appendix D.2.1"),
    (42, "mnli", "Appendix D.2.2"),
)


def _by_layer(found: xarray.Dataset) -> pandas.DataFrame:
    box = 100 * found["own_box"].sel(group="all")
    every = found.sel(group="all")
    return pandas.DataFrame(
        {
            "layer": found["layer"].values + 1,
            "median": box.sel(mark="median").values,
            "1st quartile": box.sel(mark="first").values,
            "3rd quartile": box.sel(mark="third").values,
            "mean": 100 * every["own_mean"].values,
            "not largest": 100 * found["not_largest"].values,
        }
    )


def _alternative(what: str, values: "pandas.Series[float]") -> str:
    return f"{what} by layer: " + ", ".join(f"{value:.1f}%" for value in values) + "."


def _comparisons(
    found: xarray.Dataset, frame: pandas.DataFrame, pairs: PairSet
) -> list[Comparison]:
    """Medians and shares at three depths, and how they change with depth."""
    rows = frame.set_index("layer")
    is_papers = pairs.task == "mrpc"
    compared = []
    for theirs, ours in counterparts(found).items():
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
        claims.mixes(found).comparison,
        Comparison(
            "ever more tokens are not their main contributor",
            "yes",
            yes_or_no(grows),
            note=", ".join(f"{share:.1f}%" for share in frame["not largest"]) + " by layer",
        ),
    ]
