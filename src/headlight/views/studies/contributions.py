"""The study of contributions: how much of a hidden token is its own input token."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import Box, BoxPanel, Line, LinePanel, boxes, lines
from headlight.views.studies.parts import (
    Drawing,
    Figure,
    Section,
    Summary,
    categories,
    frame_of,
    mean_of,
    percentages,
    rounded,
)

SOURCE = "Brunner et al. (2020), {}"
MARKS = ("low", "first", "median", "third", "high")


def summary(result: xr.Dataset) -> Summary:
    """What tokens contribute to themselves in the first and the last layer looked at."""
    own = result["own_mean"].sel(group="all")
    ends = own["layer"].values[[0, -1]]
    found = {f"own_layer_{layer}": float(own.sel(layer=layer)) for layer in ends}
    return rounded({**found, "not_largest": mean_of(result["not_largest"])})


def sections(result: xr.Dataset) -> list[Section]:
    """Own contributions, those of neighbours, and how good the estimate is."""
    found = [_own(result), _neighbours(result)]
    return [*found, _exact(result)] if "exact_difference" in result else found


def _own(result: xr.Dataset) -> Section:
    layers = result["layer"].values
    whole = result.sel(group="all")
    frame = pd.DataFrame(
        {
            "layer": layers,
            "own": whole["own_mean"].values,
            "standard error": whole["own_standard_error"].values,
            "median": whole["own_box"].sel(mark="median").values,
            "not the largest": result["not_largest"].values,
        }
    )
    groups = [
        name for name in categories(result, "group") if result["own_count"].sel(group=name) > 0
    ]
    own = result["own_mean"].sel(group=groups)
    by_group = frame_of(own, "layer", "group", categories(result, "group"))

    def draw() -> Figure:
        marks = whole["own_box"].transpose("layer", "mark").sel(mark=list(MARKS)).values
        drawn = [
            Box(str(layer), low, first, median, third, high, "attribution")
            for layer, (low, first, median, third, high) in zip(layers, marks, strict=True)
        ]
        panel = BoxPanel("Own contribution", drawn, x_label="layer", percent=True)
        return boxes([panel])

    def draw_not_largest() -> Figure:
        shares, error = result["not_largest"].values, result["not_largest_standard_error"].values
        line = Line("", layers, shares, shares - error, shares + error, "attribution", marked=True)
        return lines([LinePanel("Not the main contributor", [line], x_label="layer", percent=True)])

    return Section(
        "own",
        "What a token contributes to itself",
        "The share of a hidden token that is due to the input token at its own place, by the size "
        "of derivatives; and for how many tokens another input token contributes more.",
        SOURCE.format("Figure 3"),
        [
            Drawing("own", "", "Boxes of own contributions by layer.", draw),
            Drawing("not_largest", "", "Shares of tokens by layer.", draw_not_largest),
        ],
        [
            Table("own", "By layer", frame, percentages(frame)),
            Table("groups", "By category of the token", by_group, percentages(by_group)),
        ],
    )


def _neighbours(result: xr.Dataset) -> Section:
    layers, offsets = result["layer"].values, result["offset"].values
    frame = frame_of(result["by_distance"], "layer", "distance")

    def draw() -> Figure:
        shares = result["by_distance_share"].transpose("distance", "layer")
        drawn = [
            Line(str(name), layers, shares.sel(distance=name).values, marked=True)
            for name in result["distance"].values
        ]
        return lines([LinePanel("Neighbours by distance", drawn, x_label="layer", percent=True)])

    def draw_offsets() -> Figure:
        shares = result["neighbour_share"].transpose("layer", "offset")
        chosen = sorted({0, len(layers) // 2, len(layers) - 1})
        near = np.abs(offsets) <= min(32, _reach(result))
        drawn = [
            Line(f"layer {layers[at]}", offsets[near], shares.values[at, near]) for at in chosen
        ]
        return lines([LinePanel("By relative place", drawn, x_label="place", percent=True)])

    return Section(
        "neighbours",
        "What neighbours contribute",
        "First the contribution of neighbours at a distance, as a share of its sum over the "
        "layers; then from which relative place contributions come, the token itself left out.",
        SOURCE.format("Figure 4"),
        [
            Drawing("distances", "", "Contributions by distance and layer.", draw),
            Drawing("places", "", "Contributions by relative place.", draw_offsets),
        ],
        [
            Table(
                "distances",
                "Mean contribution of a neighbour, by distance",
                frame,
                percentages(frame),
            )
        ],
    )


def _reach(result: xr.Dataset) -> int:
    """How far away any neighbour was."""
    seen = result["offset"].values[result["neighbour_count"].values > 0]
    return int(np.abs(seen).max()) if seen.size else 1


def _exact(result: xr.Dataset) -> Section:
    names = {
        "exact_difference": "difference",
        "exact_relative": "relative",
        "exact_inside": "within two errors",
        "exact_correlation": "correlation",
        "exact_own_mean": "own, exact",
        "estimated_own_mean": "own, estimated",
    }
    frame = pd.DataFrame(
        {"layer": result["layer"].values}
        | {label: result[name].values for name, label in names.items() if name in result}
    )
    return Section(
        "exact",
        "How good the estimate is",
        f"On {result.attrs.get('exact_examples', 'a few')} short examples contributions were "
        "computed exactly as well: the mean difference of one contribution, how often the exact "
        "one lies within two standard errors, and the correlation of both.",
        "",
        [],
        [Table("exact", "Estimated against exact contributions", frame)],
    )
