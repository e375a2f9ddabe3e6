"""Observations with the highest scores of each entry, each with a row of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, rows_of


class Strongest(Accumulator):
    """The ``size`` observations with the highest scores of each entry.

    A row of numbers belongs to each observation.  Among equal scores the lower rank is kept, which
    the caller computes from the observation itself; so the result depends neither on the order of
    observations nor on how they are split.  An observation without a score (NaN) is left out.

    Args:
        shape: Shape of the entries.
        size: Number of observations to keep of each entry, from 1.
        width: Length of the row of an observation.
    """

    kind = "strongest"
    fields = ("score", "rank", "rows")

    def __init__(self, shape: Sequence[int] = (), size: int = 1, width: int = 1) -> None:
        self.shape = tuple(shape)
        self.size = size
        self.width = width
        self.score = np.full((size, *self.shape), np.nan)
        self.rank = np.full((size, *self.shape), np.nan)
        self.rows = np.full((size, *self.shape, width), np.nan)

    @property
    def is_exact(self) -> bool:
        """Return True: the rows with the highest scores are kept."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return `shape`, `size` and `width`."""
        return {"shape": list(self.shape), "size": self.size, "width": self.width}

    def update(self, score: Array, rank: Array, rows: Array) -> None:
        """Add observations along the first axis.

        Args:
            score: Scores, ``[n, *shape]``.
            rank: Ranks, ``[n, *shape]``; the lower one comes first among equal scores.
            rows: Rows of numbers, ``[n, *shape, width]``.

        Raises:
            ValueError: A shape is not that of the accumulator.
        """
        score, rank = rows_of(score, self.shape), rows_of(rank, self.shape)
        self._take(score, rank, rows_of(rows, (*self.shape, self.width)))

    def compute(self) -> dict[str, Array]:
        """Return `score`, ``[size, *shape]`` in descending order, and `rows`, filled with NaN."""
        return {"score": self.score.copy(), "rows": self.rows.copy()}

    def _absorb(self, other: "Strongest") -> None:
        self._take(other.score, other.rank, other.rows)

    def _take(self, score: Array, rank: Array, rows: Array) -> None:
        scores = np.concatenate([self.score, score])
        ranks = np.concatenate([self.rank, rank])
        everything = np.concatenate([self.rows, rows])
        order = np.lexsort((ranks, -scores), axis=0)[: self.size]  # NaN comes last
        self.score, self.rank = (np.take_along_axis(x, order, 0) for x in (scores, ranks))
        self.rows = np.take_along_axis(everything, order[..., None], 0)
        self.rank[np.isnan(self.score)] = np.nan
        self.rows[np.isnan(self.score)] = np.nan
