"""The study of attribution: how much of a hidden token is its own input token."""

import numpy as np
import xarray as xr

from headlight.views.parts import By, Columns, Curve, Drawing, Section, Summary, columns, curves
from headlight.views.parts.box_plots import boxes_of
from headlight.views.parts.result_facts import categories, mean_of, rounded
from headlight_papers.findings import attribution

findings = attribution.attribution
"""Findings in words, shown first."""

SOURCE = "Brunner et al. (2020), {}"


def summary(result: xr.Dataset) -> Summary:
    """Return the tokens' contributions to themselves in the first and the last observed layer."""
    to_itself = result["own_mean"].sel(group="all")
    ends = to_itself["layer"].values[[0, -1]]
    numbers = {f"own_layer_{layer}": float(to_itself.sel(layer=layer)) for layer in ends}
    return rounded({**numbers, "not_largest": mean_of(result["not_largest"])})


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: own contributions, those of neighbours, errors of the estimate."""
    hists = [_own_section(result), _neighbours(result)]
    return [*hists, _exact(result)] if "exact_difference" in result else hists


def _own_section(result: xr.Dataset) -> Section:
    whole = result.sel(group="all")
    names = categories(result, "group")
    groups = [name for name in names if result["own_count"].sel(group=name) > 0]

    draw = boxes_of(
        whole,
        "own_box",
        "layer",
        panel="Own contribution",
        colour="attribution",
        x_label="layer",
        percent=True,
    )
    draw_not_largest = curves(
        result,
        Curve(
            "not_largest",
            panel="Not the main contributor",
            interval=True,
            percent=True,
            colour="attribution",
            marked=True,
        ),
    )
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
            columns(
                "own",
                "By layer",
                whole.assign(own_median=whole["own_box"].sel(mark="median")),
                "layer",
                Columns("own_mean", ".1%", "own", interval=True),
                Columns("own_median", ".1%", "median"),
                Columns(
                    "not_largest",
                    ".1%",
                    "not the largest",
                    interval=("not the largest, low", "not the largest, high"),
                ),
            ),
            columns(
                "groups",
                "By category of the token",
                result.sel(group=groups),
                "layer",
                Columns("own_mean", ".1%", by=By("group", names)),
            ),
        ],
    )


def _neighbours(result: xr.Dataset) -> Section:
    layers, offsets = result["layer"].values, result["offset"].values
    draw = curves(
        result,
        Curve("by_distance_share", panel="Neighbours by distance", by="distance", percent=True),
    )

    observed = np.abs(offsets[result["neighbour_count"].values > 0])
    near = np.abs(offsets) <= min(32, int(observed.max()) if observed.size else 1)
    draw_offsets = curves(
        result.isel(layer=sorted({0, len(layers) // 2, len(layers) - 1}), offset=near),
        Curve(
            "neighbour_share",
            "layer {layer}",
            "By relative place",
            by="layer",
            over="offset",
            percent=True,
            x_label="place",
        ),
    )

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
            columns(
                "distances",
                "Mean contribution of a neighbour, by distance",
                result,
                "layer",
                Columns("by_distance", ".1%", by="distance"),
            )
        ],
    )


def _exact(result: xr.Dataset) -> Section:
    names = {
        "exact_difference": "difference",
        "exact_relative": "relative",
        "exact_inside": "within two errors",
        "exact_correlation": "correlation",
        "exact_own_mean": "own, exact",
        "estimated_own_mean": "own, estimated",
    }
    return Section(
        "exact",
        "How good the estimate is",
        f"On {result.attrs.get('exact_examples', 'a few')} short examples contributions were "
        "computed exactly as well: the mean difference of one contribution, how often the exact "
        "one lies within two standard errors, and the correlation of both.",
        "",
        [],
        [
            columns(
                "exact",
                "Estimated against exact contributions",
                result,
                "layer",
                *(Columns(name, label=label) for name, label in names.items() if name in result),
            )
        ],
    )
