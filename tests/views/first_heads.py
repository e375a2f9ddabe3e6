"""Which head a page should open on, by its own words and by loops that share nothing with it."""

import numpy as np
import xarray as xr


def last_word(reading: xr.Dataset) -> int:
    """The place of the last query that is a word, and one that the tokenizer knows."""
    last = 0
    for at, category in enumerate(reading["query_category"].values):
        known = str(reading["query_token"].values[at]) not in ("[UNK]", "<unk>")
        if known and str(category) == "other" and (at or reading.attrs["kind"] != "decoder"):
            last = at
    return last


def most_misleading(reading: xr.Dataset) -> tuple[int, int]:
    """The head in which the last word's norms differ most from its weights, as shares."""
    far = {}
    for layer in reading["layer"].values.tolist():
        for head in reading["head"].values.tolist():
            place = {"layer": layer, "head": head}
            weight, norm = (
                reading[name].sel(place).values[last_word(reading)] for name in ("weight", "norm")
            )
            far[layer, head] = np.abs(weight / weight.sum() - norm / norm.sum()).sum()
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
