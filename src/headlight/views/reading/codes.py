"""Numbers of maps as codes of one byte, and back."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray


def largest_of(maps: Float[np.ndarray, "head query key"]) -> list[float]:
    """Return the largest size of each head."""
    return [float(f"{value:.4g}") for value in np.nanmax(np.abs(maps), axis=(1, 2), initial=0)]


ABSENT = 255
"""The code of a number that was not observed."""
STEPS, SIGNED_STEPS, MIDDLE = 160, 63, 128
PICTURE = 48
"""Rows and columns of the picture of a head that keeps some cells only."""

Code = Literal["sqrt", "signed"]
"""Code of sizes, or of numbers that may be below 0; see `headlight.views.reading.format`."""
WORST = {
    "sqrt": 1 / STEPS + 1 / (2 * STEPS) ** 2,
    "signed": 1 / SIGNED_STEPS + 1 / (2 * SIGNED_STEPS) ** 2,
}
"""Error bound of a number, as a share of its scale: half a step of the root."""


def encode(
    maps: Float[np.ndarray, "head query key"], code: Code
) -> tuple[Float[np.ndarray, "head query"], UInt8[np.ndarray, "head query key"]]:
    """Return row scales and codes; sizes are stored by their roots, so that small ones stay.

    Signed measures have one scale for all rows of a head.
    """
    size = np.abs(maps)
    scale = shortened(np.nanmax(size, axis=-1, initial=0))
    if code == "signed":
        scale = np.broadcast_to(scale.max(-1, keepdims=True), scale.shape)
    finite = np.where(np.isfinite(maps), maps, 0)
    share = np.abs(finite) / np.where(scale > 0, scale, 1)[..., None]
    steps = STEPS if code == "sqrt" else SIGNED_STEPS
    roots = np.rint(np.sqrt(share) * steps)
    if code == "signed":
        roots = MIDDLE + np.sign(finite) * roots
    codes = np.where(np.isfinite(maps), roots, ABSENT).astype(np.uint8)
    return scale, codes


def decode(
    codes: UInt8[np.ndarray, "head query key"], scale: Float[np.ndarray, "head query"], code: Code
) -> Float[np.ndarray, "head query key"]:
    """Return the numbers of codes; NaN where there was none."""
    if code == "sqrt":
        share = np.square(codes.astype(np.float32) / STEPS)
    else:
        centred = (codes.astype(np.float32) - MIDDLE) / SIGNED_STEPS
        share = np.sign(centred) * np.square(centred)
    return np.where(codes == ABSENT, np.nan, share * scale[..., None]).astype(np.float32)


def strongest(
    maps: Float[np.ndarray, "head query key"], cells: int
) -> Int[np.ndarray, "head query cell"]:
    """Return the keys of the largest sizes of each row, largest first."""
    # Negative, as numpy sorts the smallest first; what was not observed is last.
    size = -np.nan_to_num(np.abs(maps), nan=-1)
    number = min(cells, size.shape[-1])
    some = np.argpartition(size, number - 1, axis=-1)[..., :number]
    order = np.argsort(np.take_along_axis(size, some, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(some, order, axis=-1)


def pictures(maps: Float[np.ndarray, "head query key"]) -> UInt8[np.ndarray, "head row column"]:
    """Return the maps, pooled by their largest sizes to at most `PICTURE` rows and columns."""
    small = np.nan_to_num(np.abs(maps), nan=0)
    for axis in (1, 2):
        length = small.shape[axis]
        # A short axis has fewer cells than the picture: reduceat takes no start twice.
        starts = np.unique(np.arange(PICTURE) * length // PICTURE)
        small = np.maximum.reduceat(small, starts, axis=axis)
    largest = small.max((1, 2), keepdims=True)
    share = small / np.where(largest > 0, largest, 1)
    return np.asarray(np.rint(np.sqrt(share) * STEPS).astype(np.uint8))


def shortened(values: NDArray[Any]) -> NDArray[np.float32]:
    """Round sizes up to numbers of which only half the bits are not 0, which deflate well."""
    # Read as integers, positive floats keep their order: to add the mask rounds up, and to clear
    # its bits leaves 11 of the 23 of the fraction.
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.int32)
    return np.asarray(((bits + 0xFFF) & ~0xFFF).view(np.float32))
