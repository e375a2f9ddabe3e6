"""How frequent a token is, and what it receives and weighs: Spearman's ρ, over all occurrences."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight.reduce import Accumulator, Count, Tally
from headlight.reduce.rank import FloatBins
from headlight.studies.norms.frequency import Occurrences

BINS: Mapping[str, FloatBins] = {
    "fine": FloatBins(((0, -3), (2**-24, 4), (2**-14, 9), (2**10, -3)), place_bits=0),
    "coarse": FloatBins(((0, -3), (2**-24, 3), (2**-14, 7), (2**10, -3)), place_bits=0),
}
"""How finely values are told apart, by name; finest where weights and norms lie."""

Summary = Float64[np.ndarray, "*series"]


def counted(
    values: Float64[np.ndarray, "token *series"],
    twice_mid_rank: Int64[np.ndarray, " token"],
    resolution: str,
) -> tuple[Count, Count]:
    """How many values fall into each bin, and twice the sum of the ranks of their types.

    Whole numbers, so that it does not matter in which order they are added up.

    Args:
        values: at least 0; NaN where there is none.
        twice_mid_rank: of the type of each token, see `Occurrences`; 0 where it has none.
        resolution: one of `BINS`.
    """
    bins, series = BINS[resolution], values.shape[1:]
    ranked = values[twice_mid_rank > 0].astype(np.float32)
    codes = bins.codes(ranked) + np.arange(math.prod(series)).reshape(series) * bins.bins
    there = ~np.isnan(ranked)
    doubled = np.broadcast_to(
        twice_mid_rank[twice_mid_rank > 0].reshape(-1, *(1 for _ in series)), ranked.shape
    )
    shape = (*series, bins.bins)
    seen, ranks = Count(shape), Count(shape)
    size = seen.total.size
    seen.total += np.bincount(codes[there], minlength=size).reshape(shape)
    ranks.total += np.bincount(codes[there], doubled[there], size).reshape(shape)
    return seen, ranks


def correlated(
    seen: Float64[np.ndarray, "*series bin"],
    ranks: Float64[np.ndarray, "*series bin"],
    occurrences: Occurrences,
) -> dict[str, Summary]:
    """ρ, how far it may be off, and of how many occurrences it is.

    The ranks of types are exact, those of values are known up to the bin.  With C the covariance
    of both that the bins tell, V the variance of ranks between bins, r² that within them (at most
    what it is without ties) and w² the variance of types' ranks within bins, Cauchy and Schwarz
    say that the covariance is within r·w of C; the bound is the largest difference that any such
    r allows.

    Args:
        seen: values in each bin.
        ranks: twice the sum of their types' ranks.
        occurrences: of the types.

    Returns:
        ``count``, ``correlation`` (NaN where one side is constant) and ``error_bound``.
    """
    count = seen.sum(-1)
    middle = (count + 1)[..., None] / 2
    rank = np.cumsum(seen, axis=-1) - seen + (seen + 1) / 2 - middle
    types = ranks / 2 - seen * middle  # Σ of the deviations of the ranks of types, bin by bin
    covariance = (rank * types).sum(-1)
    between = (rank * rank * seen).sum(-1)
    apart = seen[..., 1:]  # the first bin is zero's alone
    within = ((apart**3 - apart) / 12).sum(-1)
    whole = _variance_of_types(occurrences)
    unknown = whole - (types * types / np.maximum(seen, 1)).sum(-1)
    loose = np.sqrt(np.maximum(unknown, 0) * (seen > 1).any(-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = covariance / np.sqrt((between + within) * whole)
        bound = np.max(
            [
                np.abs((covariance + sign * r * loose) / np.sqrt((between + r * r) * whole) - found)
                for sign in (-1, 1)
                for r in _radii(covariance, between, within, loose, sign)
            ],
            axis=0,
        )
    there = (count > 1) & np.isfinite(found)
    return {
        "count": count,
        "correlation": np.where(there, np.clip(found, -1, 1), np.nan),
        "error_bound": np.where(there, np.minimum(bound, 2.0), np.nan),
    }


def _radii(
    covariance: Summary, between: Summary, within: Summary, loose: Summary, sign: int
) -> list[Summary]:
    """Where the correlation may be largest or smallest: both ends, and between them."""
    largest = np.sqrt(within)
    turning = np.clip(np.nan_to_num(sign * loose * between / covariance), 0, largest)
    smallest = np.where(between > 0, 0.0, largest)  # nothing between bins: all is within them
    return [smallest, np.maximum(turning, smallest), largest]


def _variance_of_types(occurrences: Occurrences) -> float:
    """Σ of the squared deviations of the ranks of types, over all occurrences that have one."""
    ranked = occurrences.twice_mid_rank > 0
    counts = occurrences.counts[ranked].astype(np.float64)
    middle = (counts.sum() + 1) / 2
    return float((counts * (occurrences.twice_mid_rank[ranked] / 2 - middle) ** 2).sum())


Values = Float64[np.ndarray, "token layer head"]
RESOLUTIONS = {"frequency": "fine", "frequency_by_layer": "fine", "frequency_by_head": "coarse"}
"""How finely values are told apart: over all heads, by layer and by head."""


def seen_with(
    twice_mid_rank: Int64[np.ndarray, " token"], weight: Values, norm: Values
) -> Mapping[str, Accumulator]:
    """α received and ‖f(x)‖ against the frequency of types: over all heads, by layer, by head.

    Each occurrence of a token is one observation.  Over all heads, and by layer, it is the mean of
    its values in these heads that is ranked (Kobayashi et al. 2020, Section 4.3).

    Args:
        twice_mid_rank: see `Occurrences`; 0 for types without a rank.
        weight: the mean over the queries that can see the token of α; NaN for heads that a layer
            does not have.
        norm: ‖f(x)‖, the same.
    """
    by_head = np.stack([weight, norm], axis=-1)
    values = {
        "frequency": np.nanmean(by_head, axis=(1, 2)),
        "frequency_by_layer": np.nanmean(by_head, axis=2),
        "frequency_by_head": by_head,
    }
    found: dict[str, Accumulator] = {}
    for name, rows in values.items():
        seen, ranks = counted(rows, twice_mid_rank, RESOLUTIONS[name])
        found |= {f"{name}_seen": seen, f"{name}_ranks": ranks}
    return found


def correlations(tally: Tally, occurrences: Occurrences) -> dict[str, dict[str, Any]]:
    """Spearman's ρ, its bound and count, by name; the last axis is the quantity."""
    return {
        name: correlated(
            tally[f"{name}_seen"].compute()["total"],
            tally[f"{name}_ranks"].compute()["total"],
            occurrences,
        )
        for name in RESOLUTIONS
    }
