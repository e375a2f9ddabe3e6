"""How frequent a token is, and what it receives and weighs, occurrence by occurrence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight.reduce import Accumulator, Tally
from headlight.studies.norms.frequency import Occurrences
from headlight.studies.norms.frequency_correlation import correlated, counted

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
