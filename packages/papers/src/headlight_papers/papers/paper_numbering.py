"""Layers and heads as papers number them, from 1."""

import xarray

from headlight.vocabulary import head_name as own_name

COUNTED = ("layer", "tested_layer", "head")
"""Dimensions that papers count from 1."""


def head_name(layer: int, head: int) -> str:
    """Return the name of a head, from 0, and the paper's, from 1: ``L7H9 (8-10)``."""
    return f"{own_name(layer, head)} ({layer + 1}-{head + 1})"


def as_printed(result: xarray.Dataset) -> xarray.Dataset:
    """Return a result whose layers and heads are numbered as papers print them, from 1."""
    return result.assign_coords(
        {name: result[name] + 1 for name in COUNTED if name in result.coords}
    )


def layer_names(result: xarray.Dataset | xarray.DataArray) -> list[str]:
    """Return the layers of a result."""
    return [str(int(layer) + 1) for layer in result["layer"].values]


def count_heads(values: xarray.DataArray) -> int:
    """Count the heads over all layers; layers may differ in their number."""
    others = [dim for dim in values.dims if dim not in ("layer", "head")]
    return int(values.notnull().any(others).sum())
