"""The study of token identity: is the input token still to be found in a hidden token?"""

from dataclasses import replace
from itertools import product

import numpy as np
import xarray as xr

from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Map,
    Section,
    Summary,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import rounded
from headlight_papers.findings import token_identity

findings = token_identity.token_identity
"""Findings in words, shown first."""

TITLES = By("loss", {"cosine": "Cosine distance", "l2": "L2 distance"})
MAP, LOSS = By("map", {"mlp": "MLP"}), By("loss", {"l2": "L2"}, "distance")


def summary(result: xr.Dataset) -> Summary:
    """Return the rate in the last observed layer, for each map and distance."""
    last = _plain(result)["rate_mean"].isel(layer=-1)
    layer = int(last["layer"])
    rates = {
        f"{name}_{loss}_layer_{layer}": float(last.sel(map=name, loss=loss))
        for name, loss in product(*(result[axis].values.tolist() for axis in ("map", "loss")))
    }
    return rounded(rates)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: rates by layer, of neighbours, and of maps tested on all layers."""
    parts = [_rates(result)]
    if result.sizes["offset"] > 1:
        parts.append(_neighbours(result))
    if "rate_across_mean" in result:
        parts.append(_across_section(result))
    return parts


def _plain(result: xr.Dataset) -> xr.Dataset:
    offset = int(np.abs(result["offset"].values).argmin())
    return result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))


def _rates(result: xr.Dataset) -> Section:
    plain = _plain(result)
    draw = curves(
        plain,
        Curve(
            "rate_mean",
            panel="{loss}",
            by=(TITLES, MAP),
            interval=True,
            percent=True,
            y_label="identified",
            marked=True,
        ),
    )
    table = columns(
        "rates",
        "Share of tokens identified",
        plain,
        (LOSS, MAP),
        Columns("rate_mean", ".1%", "layer {layer}", by="layer"),
    )
    chance = result.attrs.get("chance")
    words = "" if chance is None else f" By chance it would be {float(chance):.1%}."
    return Section(
        "rates",
        "Tokens that are identified",
        "A map takes a hidden token to where its input token was: naive leaves it where it is, "
        "linear is a matrix, MLP a network with one hidden layer; both are trained on other "
        "sequences. The token is identified if no other token of its sequence is nearer, by cosine "
        f"or by L2 (Euclidean) distance.{words} Bands are intervals of 95% over splits.",
        "Brunner et al. (2020), Figure 2",
        [Drawing("rates", "", "Rates by layer.", draw)],
        [replace(table, frame=table.frame[["map", "distance", *table.frame.columns[2:]]])],
    )


def _neighbours(result: xr.Dataset) -> Section:
    draw = curves(
        result.isel(fraction=int(result["fraction"].values.argmax())),
        Curve(
            "rate_mean",
            "{offset:+d}",
            "{map}, {loss}",
            by=(MAP, LOSS, "offset"),
            interval=True,
            percent=True,
            y_label="recovered",
            marked=True,
        ),
    )
    return Section(
        "neighbours",
        "Neighbours that can be recovered",
        "The same for the token this many places before or after.",
        "Brunner et al. (2020), Figure 4",
        [Drawing("neighbours", "", "Rates by layer and relative place.", draw)],
    )


def _across_section(result: xr.Dataset) -> Section:
    draw = maps(
        _plain(result),
        Map(
            "rate_across_mean",
            by=(MAP, LOSS),
            rows=By("layer", heading="trained on layer"),
            columns=By("tested_layer", heading="tested on layer"),
            format=".0%",
        ),
    )
    return Section(
        "across",
        "Maps of one layer, tested on all",
        "A map that works for other layers as well has found what layers share.",
        "Brunner et al. (2020), Figures 8 to 10",
        [Drawing("across", "", "Rates by layer of training and of testing.", draw)],
    )
