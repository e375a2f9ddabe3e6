"""The study of token identity: is the input token still to be found in a hidden token?"""

from itertools import product

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import HeadMap, Line, LinePanel, head_map, lines
from headlight.views.studies.parts import Drawing, Figure, Section, Summary, percentages, rounded

TITLES = {"cosine": "Cosine distance", "l2": "L2 distance"}
MAPS = {"mlp": "MLP"}
LOSSES = {"l2": "L2"}


def summary(result: xr.Dataset) -> Summary:
    """The rate in the last layer looked at, for each map and distance."""
    last = _plain(result)["rate_mean"].isel(layer=-1)
    layer = int(last["layer"])
    found = {
        f"{name}_{loss}_layer_{layer}": float(last.sel(map=name, loss=loss))
        for name, loss in product(*_kinds(result))
    }
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """Rates by layer, what neighbours keep, and maps of one layer tested on all."""
    found = [_rates(result)]
    if result.sizes["offset"] > 1:
        found.append(_neighbours(result))
    if "rate_across_mean" in result:
        found.append(_across(result))
    return found


def _kinds(result: xr.Dataset) -> tuple[list[str], list[str]]:
    return [str(name) for name in result["map"].values], [str(n) for n in result["loss"].values]


def _plain(result: xr.Dataset) -> xr.Dataset:
    """The token itself, from all training sequences."""
    offset = int(np.abs(result["offset"].values).argmin())
    return result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))


def _line(label: str, one: xr.Dataset) -> Line:
    """A rate by layer, with a band of one standard error."""
    rate, error = one["rate_mean"].values, np.nan_to_num(one["rate_standard_error"].values)
    return Line(label, one["layer"].values, rate, rate - error, rate + error, marked=True)


def _rates(result: xr.Dataset) -> Section:
    maps, losses = _kinds(result)
    plain = _plain(result)
    rows = [
        {"map": MAPS.get(name, name), "distance": LOSSES.get(loss, loss)}
        | {
            f"layer {layer}": float(rate)
            for layer, rate in zip(
                result["layer"].values,
                plain["rate_mean"].sel(map=name, loss=loss).values,
                strict=True,
            )
        }
        for loss, name in product(losses, maps)
    ]
    frame = pd.DataFrame(rows)

    def draw() -> Figure:
        panels = [
            LinePanel(
                TITLES.get(loss, loss),
                [_line(MAPS.get(name, name), plain.sel(map=name, loss=loss)) for name in maps],
                "layer",
                "identified",
                percent=True,
            )
            for loss in losses
        ]
        return lines(panels)

    chance = result.attrs.get("chance")
    words = "" if chance is None else f" By chance it would be {float(chance):.1%}."
    return Section(
        "rates",
        "Tokens that are identified",
        "A map takes a hidden token to where its input token was: naive leaves it where it is, "
        "linear is a matrix, MLP a network with one hidden layer; both are trained on other "
        "sequences. The token is identified if no other token of its sequence is nearer, by cosine "
        f"or by L2 (Euclidean) distance.{words} Bands are one standard error over splits.",
        "Brunner et al. (2020), Figure 2",
        [Drawing("rates", "", "Rates by layer.", draw)],
        [
            Table(
                "rates", "Share of tokens identified", frame, percentages(frame, *frame.columns[2:])
            )
        ],
    )


def _neighbours(result: xr.Dataset) -> Section:
    maps, losses = _kinds(result)
    whole = result.isel(fraction=int(result["fraction"].values.argmax()))

    def draw() -> Figure:
        panels = [
            LinePanel(
                f"{name}, {loss}",
                [
                    _line(f"{offset:+d}", whole.sel(map=name, loss=loss, offset=offset))
                    for offset in result["offset"].values.tolist()
                ],
                "layer",
                "recovered",
                percent=True,
            )
            for name, loss in product(maps, losses)
        ]
        return lines(panels)

    return Section(
        "neighbours",
        "Neighbours that can be recovered",
        "The same for the token so many places before or after.",
        "Brunner et al. (2020), Figure 4",
        [Drawing("neighbours", "", "Rates by layer and relative place.", draw)],
    )


def _across(result: xr.Dataset) -> Section:
    maps, losses = _kinds(result)
    rates = _plain(result)["rate_across_mean"].transpose("map", "loss", "layer", "tested_layer")

    def draw() -> Figure:
        layers = [str(layer) for layer in result["layer"].values]
        shown = [
            HeadMap(
                f"{name}, {loss}",
                rates.sel(map=name, loss=loss).values,
                layers,
                layers,
                "trained on layer",
                "tested on layer",
                format=".0%",
            )
            for name, loss in product(maps, losses)
        ]
        return head_map(shown)

    return Section(
        "across",
        "Maps of one layer, tested on all",
        "A map that works for other layers as well has found what layers share.",
        "Brunner et al. (2020), Figures 8 to 10",
        [Drawing("across", "", "Rates by layer of training and of testing.", draw)],
    )
