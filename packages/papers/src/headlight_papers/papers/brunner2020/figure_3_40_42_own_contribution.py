"""Figures 3, 40 and 42: contributions of a token's own input."""

import numpy as np
import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020 import claims, published
from headlight_papers.papers.brunner2020.contribution_results import (
    contribution_notes,
    counterparts,
    draw_boxes,
    load_contributions,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import percent, yes_or_no
from headlight_papers.papers.reproduction import Reproduction


def own_contribution(
    reproduction: Reproduction, writer: ExhibitWriter, name: str | None
) -> Section:
    """Return the section of own contributions, and of tokens of which another gives most."""
    pairs = find_pair_set(reproduction, name)
    result = load_contributions(reproduction, pairs)
    frame = _layers_table(result)
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


def _layers_table(result: xarray.Dataset) -> pandas.DataFrame:
    box = 100 * result["own_box"].sel(group="all")
    all_tokens = result.sel(group="all")
    return pandas.DataFrame(
        {
            "layer": result["layer"].values + 1,
            "median": box.sel(mark="median").values,
            "1st quartile": box.sel(mark="first").values,
            "3rd quartile": box.sel(mark="third").values,
            "mean": 100 * all_tokens["own_mean"].values,
            "not largest": 100 * result["not_largest"].values,
        }
    )


def _alternative(what: str, values: "pandas.Series[float]") -> str:
    return f"{what} by layer: " + ", ".join(f"{value:.1f}%" for value in values) + "."


def _comparisons(
    result: xarray.Dataset, frame: pandas.DataFrame, pairs: PairSet
) -> list[Comparison]:
    """Return medians and shares at three depths, and how they change with depth."""
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
