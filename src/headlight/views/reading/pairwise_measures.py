"""Measures of pairs of positions that a reading has, their cells, and those that are products."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.findings import equal_layers
from headlight.vocabulary import Measure, measure, measure_table


def pairwise_rows(part: xr.Dataset) -> list[Measure]:
    """Return the measures of pairs of positions that a reading has."""
    return [row for row in measure_table() if row.pairwise and row.name in part]


def heads_of(part: xr.Dataset) -> list[int]:
    """Return the number of heads in each layer; those that a layer lacks are NaN."""
    per_head = next(row.name for row in measure_table() if row.name in part and row.per_head)
    exists = np.isfinite(cells_of(part, per_head)).any((-1, -2))
    return [int(number) for number in exists.sum(-1)]


def cells_of(part: xr.Dataset, name: str) -> Float[np.ndarray, "layer *head query key"]:
    """Return the values of a measure over its axes."""
    return np.asarray(part[name].transpose(*measure(name).axes).values, dtype=np.float32)


def sources_of(part: xr.Dataset, name: str, values: NDArray[np.float32]) -> list[str]:
    """Return the measures whose product it is, so that it needs no room of its own."""
    if name == "norm" and {"weight", "vector_norm"} <= set(part):
        lengths = part["vector_norm"].transpose("layer", "head", "key").values
        least = 1e-6 * np.nanmax(np.abs(values), initial=0)
        if all(
            np.allclose(weight * length[:, None], norm, rtol=1e-3, atol=least, equal_nan=True)
            for weight, length, norm in zip(cells_of(part, "weight"), lengths, values, strict=True)
        ):
            return ["weight", "vector_norm"]
    if name == "effective" and "weight" in part and all(equal_layers(part)):
        return ["weight"]
    return []
