"""Section 5.2: how much of a hidden token is its own input token (Figures 3, 40 and 42)."""

import numpy as np
import pandas
import xarray

from headlight.papers.brunner2020.contribution_results import (
    contributed,
    contribution_notes,
    counterparts,
)
from headlight.papers.brunner2020.datasets import main_set, pair_title
from headlight.papers.brunner2020.published_contribution import NOT_LARGEST, OWN_MEDIANS
from headlight.papers.naming import percent
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import Box, BoxPanel, Line, LinePanel, boxes, lines

MARKS = ("low", "first", "median", "third", "high")


def figure_3(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Own contributions on MRPC."""
    return own_contribution(study, desk, main_set(study), "Figure 3 and Section 5.2")


def figure_40(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Own contributions on CoLA."""
    return own_contribution(study, desk, "cola", "Figure 40 and Appendix D.2.1")


def figure_42(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Own contributions on MNLI."""
    return own_contribution(study, desk, "mnli", "Figure 42 and Appendix D.2.2")


def own_contribution(study: Study, desk: ExhibitWriter, name: str, source: str) -> Exhibit:
    """Boxes of own contributions, and the share of tokens of which another contributes most.

    Args:
        study: on which model and data.
        desk: where it is put together.
        name: of the set of pairs.
        source: where the paper has it.
    """
    title = f"Contribution of a token to itself, {pair_title(name)}"
    found = contributed(study, name)
    frame = _by_layer(found)
    return Exhibit(
        name=desk.exhibit,
        title=title,
        source=f"Brunner et al. (2020), {source}",
        explanation="What an input token contributes to the hidden token in its own place: its "
        "share of all that the hidden token depends on. A box is the middle half of all tokens, "
        "special ones included, the line in it the median; outliers are not shown. Below: the "
        "share of tokens of which some other token contributes more than they do themselves.",
        pictures=[
            desk.picture(
                boxes([_boxes(found)]),
                f"(a) Contribution of input tokens to their own hidden tokens, {pair_title(name)}.",
                _spoken("Medians", frame["median"]),
                name="a",
            ),
            desk.picture(
                lines([_not_largest(found)]),
                "(b) Share of tokens that are not the main contributors to their hidden tokens.",
                _spoken("Shares", frame["not largest"]),
                name="b",
            ),
        ],
        tables=[
            desk.table(
                frame,
                "By layer, in percent; s.e. is the standard error over tokens",
                formats=".2f",
            )
        ],
        comparisons=_compared(found, frame, published=name.startswith("mrpc")),
        notes=contribution_notes(study, name, found),
        files=desk.written,
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
            "s.e. of mean": 100 * every["own_standard_error"].values,
            "not largest": 100 * found["not_largest"].values,
            "s.e. of share": 100 * found["not_largest_standard_error"].values,
        }
    )


def _boxes(found: xarray.Dataset) -> BoxPanel:
    drawn = [
        box_of(str(int(layer) + 1), found["own_box"].sel(group="all", layer=layer))
        for layer in found["layer"].values
    ]
    limits = from_zero(found["own_box"].sel(group="all"))
    return BoxPanel("Own contribution", drawn, x_label="layer", percent=True, limits=limits)


def from_zero(marks: xarray.DataArray) -> tuple[float, float]:
    """An axis from 0 to a little above the highest whisker."""
    return 0.0, min(1.0, 1.05 * float(marks.sel(mark="high").max()))


def box_of(label: str, marks: xarray.DataArray) -> Box:
    """A box with the marks of a result."""
    low, first, median, third, high = (float(marks.sel(mark=mark)) for mark in MARKS)
    return Box(label, low, first, median, third, high, "attribution")


def _not_largest(found: xarray.Dataset) -> LinePanel:
    x, y = found["layer"].values + 1, found["not_largest"].values
    error = 2 * found["not_largest_standard_error"].values
    line = Line("", x, y, y - error, y + error, "attribution", marked=True)
    return LinePanel("Not the main contributor", [line], x_label="layer", percent=True)


def _spoken(what: str, values: "pandas.Series[float]") -> str:
    return f"{what} by layer: " + ", ".join(f"{value:.1f}%" for value in values) + "."


def _compared(
    found: xarray.Dataset, frame: pandas.DataFrame, *, published: bool
) -> list[Comparison]:
    """Medians and shares at three depths, and how they change with depth."""
    rows = frame.set_index("layer")
    compared = []
    for theirs, ours in counterparts(found).items():
        note = f"layer {theirs} of 12 there, layer {ours} of {len(frame)} here"
        for quantity, column, numbers in (
            ("median own contribution", "median", OWN_MEDIANS),
            ("tokens that are not their main contributor", "not largest", NOT_LARGEST),
        ):
            compared.append(
                Comparison(
                    f"{quantity}, layer {theirs}",
                    numbers[theirs] if published else None,
                    percent(float(rows[column][ours]) / 100),
                    "%",
                    note if published else f"{note}; the paper gives numbers for MRPC alone",
                )
            )
    falls = "yes" if bool((np.diff(frame["median"]) < 0).all()) else "no"
    grows = "yes" if bool((np.diff(frame["not largest"]) >= 0).all()) else "no"
    return [
        *compared,
        Comparison("own contribution falls from layer to layer", "yes", falls),
        Comparison("ever more tokens are not their main contributor", "yes", grows),
    ]
