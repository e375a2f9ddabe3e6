"""Which head a page should open on, by its own words and by loops that share nothing with it."""

import numpy as np
import xarray as xr


def most_misleading(reading: xr.Dataset) -> tuple[int, int]:
    """The place of the head "whose norms differ most from its weights", as shares of rows."""
    far = {}
    # A decoder's view opens without its first token, and special ones.
    special = [str(each) in ("cls", "sep") for each in reading["key_category"].values]
    if reading.attrs["kind"] != "decoder":
        special = [False] * len(special)
    shown = [at for at, each in enumerate(special) if not each]
    shown = [at for at in shown if at or reading.attrs["kind"] != "decoder"]
    for layer in reading["layer"].values.tolist():
        for head in reading["head"].values.tolist():
            place = {"layer": layer, "head": head}
            weights, norms = (reading[name].sel(place).values for name in ("weight", "norm"))
            far[layer, head] = sum(
                np.abs(weight / weight.sum() - norm / norm.sum())[shown].sum()
                for weight, norm in zip(weights, norms, strict=True)
            )
    return max(far, key=far.__getitem__)


def farthest_apart(first: xr.Dataset, second: xr.Dataset) -> tuple[int, int]:
    """The head "in which the weights of the two are farthest apart": of two texts of one length."""
    far = {
        (layer, head): float(
            np.abs(
                second["weight"].sel(layer=layer, head=head).values
                - first["weight"].sel(layer=layer, head=head).values
            ).sum()
        )
        for layer in first["layer"].values.tolist()
        for head in first["head"].values.tolist()
    }
    return max(far, key=far.__getitem__)


def named(place: tuple[int, int]) -> str:
    """As the title of the maps has it."""
    return f"L{place[0]}H{place[1]}"
