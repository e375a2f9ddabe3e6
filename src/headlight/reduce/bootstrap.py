"""Sums over clusters, and the same sums in resampled corpora, in one pass and in fixed memory."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from headlight.reduce.base import Accumulator, Array

HELD = 256
"""Clusters that are kept as they came, before they are multiplied out."""


class Bootstrap(Accumulator):
    """Sums of whole numbers over clusters, such as sentences, and over Poisson resamples of them.

    A resample of the ordinary bootstrap takes n of n clusters with replacement; which is why it has
    to know n, and to see all clusters together.  Taking each cluster Poisson(1) times instead gives
    the same intervals for all but tiny n, and each cluster can be dealt with when it comes, in any
    shard (Chamandy et al. 2012, "Estimating uncertainty for massive data streams"; Hanley and
    MacGibbon 2006).  How often a cluster is taken depends on the seed and on its key alone, so that
    sums of different things over the same clusters are resampled together.

    All sums are whole numbers, below 2^31, and exact; so they do not depend on the order in which
    shards are merged.  Memory is that of ``replicates`` + 1 sums.

    Args:
        shape: The axes of one observation.
        replicates: The number of resamples; 0 leaves the sums alone.
        seed: Of the resamples.
        held: Clusters that may wait until they are multiplied out; the sums do not depend on it.
    """

    kind = "bootstrap"
    fields = ("keys", "rows", "totals")

    def __init__(
        self, shape: Sequence[int] = (), *, replicates: int = 200, seed: int = 0, held: int = HELD
    ) -> None:
        self.shape = tuple(shape)
        self.replicates = replicates
        self.seed = seed
        self.held = held
        self.keys = np.zeros(0, dtype=np.int64)
        self.rows = np.zeros((0, *self.shape), dtype=np.uint16)
        self.totals = np.zeros((0, *self.shape), dtype=np.int32)  # no rows until there are sums

    @classmethod
    def of(cls, keys: Array, rows: Array, *, replicates: int, seed: int) -> "Bootstrap":
        """The sums over clusters that are at hand, one row for each; see `update`."""
        made = cls(np.shape(rows)[1:], replicates=replicates, seed=seed)
        made.update(keys, rows)
        return made

    @property
    def is_exact(self) -> bool:
        """Yes: sums are whole numbers."""
        return True

    def settings(self) -> dict[str, Any]:
        """`shape`, `replicates`, `seed` and `held`."""
        return {
            "shape": list(self.shape),
            "replicates": self.replicates,
            "seed": self.seed,
            "held": self.held,
        }

    def update(self, keys: Array, observations: Array) -> None:
        """See clusters.

        Args:
            keys: ``[n]`` whole numbers, one of its own for each cluster; a cluster may come in
                parts.
            observations: ``[n, *shape]`` whole numbers from 0 to 65535.

        Raises:
            ValueError: if the shapes do not fit, or a number is out of range.
        """
        if np.shape(observations) != (len(keys), *self.shape):
            raise ValueError(
                f"observations of shape {(len(keys), *self.shape)} are needed, not "
                f"{np.shape(observations)}"
            )
        rows = np.asarray(observations).astype(np.uint16)
        if not np.array_equal(rows, observations):
            raise ValueError("observations must be whole numbers from 0 to 65535")
        self._hold(np.asarray(keys).astype(np.int64), rows)

    def _absorb(self, other: "Bootstrap") -> None:
        self._add(other.totals)
        self._hold(other.keys, other.rows)

    def compute(self) -> dict[str, Array]:
        """``total``, of ``shape``, and ``replicates``, one more axis before it."""
        done = self.copy()
        done._multiply()
        if not len(done.totals):
            done.totals = self._nothing()
        sums = done.totals.astype(np.float64)
        return {"total": sums[0, ...], "replicates": sums[1:]}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> "Bootstrap":
        """The accumulator that has these settings and this state."""
        made = cls(**settings)
        for field in cls.fields:
            setattr(made, field, np.array(arrays[field], dtype=getattr(made, field).dtype))
        return made

    def _hold(self, keys: Array, rows: Array) -> None:
        """Keep clusters until there are enough of them for a product of matrices to be quick."""
        self.keys = np.concatenate([self.keys, keys])
        self.rows = np.concatenate([self.rows, rows])
        if len(self.keys) >= self.held:
            self._multiply()

    def _multiply(self) -> None:
        """Turn the clusters that wait into sums, in parts; exact, and mostly quick, in float32."""
        for start in range(0, len(self.keys), HELD):
            part = slice(start, start + HELD)
            taken, rows = resampled(self.keys[part], self.replicates, self.seed), self.rows[part]
            largest = int(rows.max(initial=0)) * taken.sum(axis=0).max(initial=0)
            exact = np.dtype(np.float32 if largest < 2**24 else np.float64)
            flat = rows.reshape(-1, math.prod(self.shape)).astype(exact)
            sums = np.matmul(taken.T.astype(exact), flat)
            self._add(sums.astype(np.int32).reshape(-1, *self.shape))
        self.keys, self.rows = self.keys[:0], self.rows[:0]

    def _add(self, sums: Array) -> None:
        if not len(sums):
            return
        if not len(self.totals):
            self.totals = self._nothing()
        self.totals += sums

    def _nothing(self) -> Array:
        return np.zeros((self.replicates + 1, *self.shape), dtype=np.int32)


def resampled(
    keys: Int64[np.ndarray, " n"], replicates: int, seed: int
) -> Float32[np.ndarray, "n sample"]:
    """How often each cluster is in the sample itself, which is once, and in each resample."""
    taken = np.ones((len(keys), replicates + 1), dtype=np.float32)
    for row, key in zip(taken, keys.astype(np.uint64), strict=True):
        seeded = np.array([seed, key], dtype=np.uint64)
        row[1:] = np.random.Generator(np.random.Philox(key=seeded)).poisson(1.0, len(row) - 1)
    return taken
