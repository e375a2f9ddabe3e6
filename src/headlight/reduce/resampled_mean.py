"""Means over clusters, and the same means in resampled corpora, in one pass and in fixed memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.base import Accumulator, Array, rows_of
from headlight.reduce.bootstrap import resampled
from headlight.reduce.intervals import percentiles


class ResampledMean(Accumulator):
    """Means of any numbers over clusters, such as texts, and over Poisson resamples of them.

    The resamples are those of `Bootstrap`, which sums whole numbers: how often a cluster is taken
    depends on the seed and on its key alone.

    Args:
        shape: The axes of one observation.
        replicates: The number of resamples; 0 leaves the means alone.
        seed: Of the resamples.
    """

    kind = "resampled_mean"
    fields = ("sums", "counts")

    def __init__(self, shape: Sequence[int] = (), *, replicates: int = 200, seed: int = 0) -> None:
        self.shape = tuple(shape)
        self.replicates = replicates
        self.seed = seed
        self.sums = np.zeros((replicates + 1, *self.shape))
        self.counts = np.zeros((replicates + 1, *self.shape))

    @classmethod
    def of(cls, keys: Array, rows: Array, *, replicates: int, seed: int) -> "ResampledMean":
        """The means over clusters that are at hand, one row for each; see `update`."""
        made = cls(np.shape(rows)[1:], replicates=replicates, seed=seed)
        made.update(keys, rows)
        return made

    def settings(self) -> dict[str, Any]:
        """`shape`, `replicates` and `seed`."""
        return {"shape": list(self.shape), "replicates": self.replicates, "seed": self.seed}

    def update(self, keys: Array, observations: Array) -> None:
        """See clusters.

        Args:
            keys: ``[n]`` whole numbers, one of its own for each cluster.
            observations: ``[n, *shape]``, NaN where one is missing.

        Raises:
            ValueError: if the shapes do not fit.
        """
        rows = rows_of(observations, self.shape)
        if len(rows) != len(keys):
            raise ValueError(f"{len(keys)} keys do not fit {len(rows)} observations")
        numbers = np.asarray(keys).astype(np.int64)
        taken = resampled(numbers, self.replicates, self.seed).astype(np.float64).T
        seen = ~np.isnan(rows)
        self.sums += np.tensordot(taken, np.where(seen, rows, 0.0), 1)
        self.counts += np.tensordot(taken, seen.astype(np.float64), 1)

    def _absorb(self, other: "ResampledMean") -> None:
        self.sums += other.sums
        self.counts += other.counts

    def compute(self) -> dict[str, Array]:
        """`mean` and `count`, of ``shape``, and the `percentiles` `low` and `high` of the mean.

        A single cluster has no interval: its resamples are all alike.
        """
        means = self.sums / np.where(self.counts > 0, self.counts, np.nan)
        count = self.counts[0, ...].copy()
        ends = (np.where(count > 1, end, np.nan) for end in percentiles(means[1:]))
        found = dict(zip(("low", "high"), ends, strict=True))
        return {"mean": means[0, ...], **found, "count": count}
