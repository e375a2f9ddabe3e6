"""Rank correlation of the attention that tokens receive with the frequency of their types."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight.reduce import Accumulator, Count, Tally
from headlight.studies.survey.frequency_ranks import Occurrences

OCTAVE_BITS = 7
"""Base-2 logarithm of the number of bins of values to the octave."""
LOWEST, BINS = (127 - 30) << OCTAVE_BITS, 38 << OCTAVE_BITS
"""Bin of 2^-30, which also holds all lower values, and number of bins, up to 2^8."""

Summary = Float64[np.ndarray, "*series"]


def counted(
    values: Float64[np.ndarray, "token *series"], twice_mid_rank: Int64[np.ndarray, " token"]
) -> tuple[Count, Count]:
    """Return the number of values in each bin, and twice the sum of the ranks of their types.

    Both are whole numbers, so that the order of addition does not matter.

    Args:
        values: Values of at least 0; NaN where there is none.
        twice_mid_rank: Twice the mid-rank of the type of each token, see `Occurrences`; 0 for types
            without a rank.
    """
    series = values.shape[1:]
    # Only float32 has the bits that bins are made of; 0.5% of a bin is far above its rounding.
    ranked = values[twice_mid_rank > 0].astype(np.float32)
    # The bits of a positive float32 grow with its logarithm: exponent, then mantissa.
    bins = np.clip((ranked.view(np.int32) >> (23 - OCTAVE_BITS)) - LOWEST, 0, BINS - 1)
    codes = bins + np.arange(math.prod(series)).reshape(series) * BINS
    valid = ~np.isnan(ranked)
    doubled = np.broadcast_to(
        twice_mid_rank[twice_mid_rank > 0].reshape(-1, *(1 for _ in series)), ranked.shape
    )
    shape = (*series, BINS)
    counts, ranks = Count(shape), Count(shape)
    size = counts.total.size
    counts.total += np.bincount(codes[valid], minlength=size).reshape(shape)
    ranks.total += np.bincount(codes[valid], doubled[valid], size).reshape(shape)
    return counts, ranks


def correlated(
    counts: Float64[np.ndarray, "*series bin"],
    ranks: Float64[np.ndarray, "*series bin"],
    occurrences: Occurrences,
) -> dict[str, Summary]:
    """Return Spearman's ρ and the number of occurrences that it is computed from.

    The ranks of types are exact; values of one bin, which differ by 0.5%, share the mean of their
    ranks.  The error of ρ is below 0.001 on trained models, except for almost constant values.

    Args:
        counts: Number of values in each bin.
        ranks: Twice the sum of the ranks of their types.
        occurrences: Occurrences of the types.

    Returns:
        ``count`` and ``correlation`` (NaN where one side is constant).
    """
    count = counts.sum(-1)
    # Ranks are centred before they are multiplied, so that large corpora lose no digits.
    middle = (count + 1)[..., None] / 2
    rank = np.cumsum(counts, axis=-1) - counts + (counts + 1) / 2 - middle
    types = ranks / 2 - counts * middle  # Σ of the deviations of the ranks of types, bin by bin
    spread = np.sqrt((rank * rank * counts).sum(-1)) * np.sqrt(_variance_of_types(occurrences))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (rank * types).sum(-1) / spread
    return {"count": count, "correlation": np.clip(correlation, -1, 1)}


def _variance_of_types(occurrences: Occurrences) -> float:
    """Return the sum of squared deviations of the ranks of types, over all ranked occurrences."""
    ranked = occurrences.twice_mid_rank > 0
    counts = occurrences.counts[ranked].astype(np.float64)
    middle = (counts.sum() + 1) / 2
    return float((counts * (occurrences.twice_mid_rank[ranked] / 2 - middle) ** 2).sum())


Values = Float64[np.ndarray, "token layer head"]
CORRELATIONS = ("frequency", "frequency_by_head")
"""Correlations over all heads, and by head."""


def seen_with(
    twice_mid_rank: Int64[np.ndarray, " token"], weight: Values, norm: Values
) -> Mapping[str, Accumulator]:
    """Count α received and ‖f(x)‖ against the frequency of types, over all heads and by head.

    Each occurrence of a token is one observation.  Over all heads, the mean of its values in the
    heads is ranked (Kobayashi et al. 2020, Section 4.3).

    Args:
        twice_mid_rank: Twice the mid-rank of the type of each token, see `Occurrences`; 0 for types
            without a rank.
        weight: Mean of α over the queries that can see the token; NaN for heads that a layer does
            not have.
        norm: ‖f(x)‖ of the token; NaN for the same heads.
    """
    by_head = np.stack([weight, norm], axis=-1)
    values = {"frequency": np.nanmean(by_head, axis=(1, 2)), "frequency_by_head": by_head}
    members: dict[str, Accumulator] = {}
    for name, rows in values.items():
        counts_seen, ranks = counted(rows, twice_mid_rank)
        members |= {f"{name}_seen": counts_seen, f"{name}_ranks": ranks}
    return members


def correlations(tally: Tally, occurrences: Occurrences) -> dict[str, dict[str, Any]]:
    """Return Spearman's ρ and its count, by name; the last axis is the quantity."""
    return {
        name: correlated(
            tally[f"{name}_seen"].compute()["total"],
            tally[f"{name}_ranks"].compute()["total"],
            occurrences,
        )
        for name in CORRELATIONS
    }
