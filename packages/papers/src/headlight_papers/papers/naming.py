"""Layers as papers print them, from 1, heads by both names, ``L7H9 (8-10)``; and tables of them."""

from collections.abc import Mapping

import numpy as np
import pandas
import xarray

from headlight.vocabulary import head_name as own_name

COUNTED = ("layer", "tested_layer", "head")
"""Dimensions that papers count from 1."""


def head_name(layer: int, head: int) -> str:
    """The name of a head, layer and head from 0, and the paper's, from 1: ``L7H9 (8-10)``."""
    return f"{own_name(layer, head)} ({layer + 1}-{head + 1})"


def as_printed(found: xarray.Dataset) -> xarray.Dataset:
    """A result whose layers and heads are numbered as papers print them, from 1."""
    return found.assign_coords({name: found[name] + 1 for name in COUNTED if name in found.coords})


def layer_names(found: xarray.Dataset | xarray.DataArray) -> list[str]:
    """The layers of a result."""
    return [str(int(layer) + 1) for layer in found["layer"].values]


def head_numbers(found: xarray.Dataset | xarray.DataArray) -> list[str]:
    """The heads of a layer."""
    return [str(int(head) + 1) for head in found["head"].values]


def count_heads(found: xarray.DataArray) -> int:
    """Count the heads over all layers; layers may differ in their number."""
    others = [dim for dim in found.dims if dim not in ("layer", "head")]
    return int(found.notnull().any(others).sum())


def frame_of(columns: Mapping[str, xarray.DataArray]) -> pandas.DataFrame:
    """One row for each place along the dimensions that the arrays share, one column for each.

    A column ``layer`` counts from 1; where there are heads, ``head`` has their names instead, and
    those that a layer does not have are left out.
    """
    cells = xarray.Dataset({name: one.reset_coords(drop=True) for name, one in columns.items()})
    order = [str(name) for name in next(iter(columns.values())).dims]
    frame = cells.to_dataframe(dim_order=order).reset_index()
    if "head" in frame:
        frame = frame.dropna(subset=list(columns), how="all").reset_index(drop=True)
        frame["head"] = list(map(head_name, frame.pop("layer"), frame["head"]))
    elif "layer" in frame:
        frame["layer"] += 1
    return frame


def percent(share: float) -> float | None:
    """A share in percent; None where nothing was observed."""
    return None if np.isnan(share) else 100 * float(share)


def yes_or_no(found: object) -> str:
    """Return whether a claim holds, as a word."""
    return "yes" if found else "no"


def in_words(names: list[str], most: int = 12) -> str:
    """``1, 2 and 4``; a long list is cut, and says how long it was."""
    if not names:
        return "none"
    shown = names[:most]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + rest
