"""Means and ratios over texts, their sums in blocks of the corpus, and their variables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from headlight.observations.layer_arrays import moments
from headlight.observations.variables import with_slots
from headlight.reduce import Accumulator, Ratio, Slots
from headlight.reduce.accumulator import Array
from headlight.studies.survey.part import Variables


def means(name: str, rows: Array, units: Array) -> dict[str, Accumulator]:
    """Return the means of rows over texts, and their sums in blocks of the corpus.

    Args:
        name: Name of the member of a tally; the sums are in ``slots_NAME``.
        rows: Values, with texts along the first axis.
        units: Number of the unit of the corpus that each text belongs to.
    """
    return {name: moments(rows), f"slots_{name}": Slots.of(units, rows)}


def ratios(name: str, parts: Array, wholes: Array, units: Array) -> dict[str, Accumulator]:
    """Return ratios of means over texts, and both sums in blocks of the corpus; see `means`."""
    ratio, wholes = Ratio(parts.shape[1:]), np.broadcast_to(wholes, parts.shape)
    ratio.update(parts, wholes)
    return {name: ratio, f"slots_{name}": Slots.of(units, parts, wholes)}


def ratio_to_whole(part: Array, total: Array) -> Ratio:
    """Return the ratio of parts along the last axis to the sum over all categories."""
    missing = np.isnan(total).all(-1, keepdims=True)
    whole = np.where(missing, np.nan, np.nansum(total, -1, keepdims=True))
    ratio = Ratio(part.shape[1:])
    ratio.update(part, np.broadcast_to(whole, part.shape))
    return ratio


def sums_of_powers(
    lengths: Array, key_mask: Array
) -> Float64[np.ndarray, "batch layer row power=3"]:
    """Return the number of lengths in each text, their sum, and the sum of their squares."""
    rows = lengths.reshape(*key_mask.shape, lengths.shape[1], -1)
    # rows * 0 + 1 counts lengths, and is NaN where a layer has no such head.
    powers = np.stack([rows * 0 + 1, rows, rows**2], -1)
    sums: Array = np.where(key_mask[..., None, None, None], powers, 0).sum(1)
    return sums


def number(
    name: str, dims: Sequence[str], sums: Mapping[str, Any], member: str, at: int | None = None
) -> Variables:
    """Return a variable over texts, and the sums that its interval is computed from.

    Args:
        name: Name of the variable.
        dims: Axes of the variable.
        sums: Statistics of the tally.
        member: Name of the member of the tally that `means` or `ratios` returned.
        at: Index along its last axis; all by default.
    """
    place: Any = ... if at is None else (..., at)
    value, slots = sums[member].get("mean", sums[member].get("ratio")), sums[f"slots_{member}"]
    placed = {part: slots[part][place] for part in ("mean", "without", "whole")}
    return dict(with_slots(name, dims, value[place], {**placed, "units": slots["units"]}))
