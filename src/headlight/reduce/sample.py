"""A uniform random sample of rows, the same however the corpus is sharded."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from headlight.reduce.accumulator import Accumulator, Array

BLOCK = 64
"""Number of rows of a stream that are drawn at a time."""

Keys = Float64[np.ndarray, " drawn"]


class Sample(Accumulator):
    """Random sample of ``size`` rows of each group, without replacement, all rows equally likely.

    Every row has a random key, and the rows with the lowest keys are kept; so samples can be
    merged.  But rows are far too many to visit.  They come in streams, of which only the length
    must be known, such as all pairs of a document: ``draw`` gives the keys of a stream from the
    lowest up, each with the number of its row, and stops when no further row can be kept, which is
    mostly at once.  Keys depend on the seed, the number of the stream and its length alone; so the
    sample depends neither on batches nor on the order of merging.

    The k-th lowest of m uniform keys is reached by steps that are exponential, of mean 1/m,
    1/(m - 1), ..., in -log(1 - key) (Rényi 1953, "On the theory of order statistics").  Of m = 3
    rows, with exponential numbers E of mean 1, the lowest key has -log(1 - key) = E₁/3, the next
    one E₁/3 + E₂/2, and the highest one E₁/3 + E₂/2 + E₃.

    Args:
        size: Number of rows to keep of each group, from 1.
        width: Length of a row.
        groups: Number of groups.
        seed: Seed of the keys, from 0.
    """

    kind = "sample"
    fields = ("keys", "rows", "group", "seen")

    def __init__(self, size: int, width: int = 2, groups: int = 1, *, seed: int = 0) -> None:
        self.size = size
        self.width = width
        self.seed = seed
        self.groups = groups
        self.keys = np.zeros(0)
        self.rows = np.zeros((0, width))
        self.group = np.zeros(0, dtype=np.int64)
        self.seen = np.zeros(groups, dtype=np.int64)

    @property
    def is_exact(self) -> bool:
        """Return True: the rows with the lowest keys are kept."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return `size`, `width`, `groups` and `seed`."""
        return {"size": self.size, "width": self.width, "groups": self.groups, "seed": self.seed}

    def draw(
        self, stream: int, length: int, group: int = 0
    ) -> tuple[Keys, Int64[np.ndarray, " drawn"]]:
        """Draw from a stream: the keys of rows that may be kept, rising, and the rows' numbers.

        Pass them on to ``keep``, with the content of these rows, before the sample is merged.

        Args:
            stream: Unique number of the stream in its group, from 0.
            length: Number of rows of the stream.
            group: Number of the group of the stream.
        """
        self.seen[group] += length
        highest, wanted = self._highest(group), min(self.size, length)
        # Philox counts up from the lowest words; the highest tell groups and the two uses apart.
        key = np.array([self.seed, stream], dtype=np.uint64)
        steps, picks = (
            np.random.Generator(np.random.Philox(key=key, counter=[0, 0, group, part]))
            for part in (0, 1)
        )
        climbed, keys, numbers = 0.0, list[float](), dict[int, None]()
        while len(keys) < wanted and (not keys or keys[-1] <= highest):
            # A block may reach behind the last row; keys from there are cut off below.
            rest = np.maximum(length - len(keys) - np.arange(BLOCK), 1)
            climb = climbed + np.cumsum(steps.standard_exponential(BLOCK) / rest)
            keys.extend(-np.expm1(-climb))
            climbed = climb[-1]
        keys = [candidate for candidate in keys[:wanted] if candidate <= highest]
        while len(numbers) < len(keys):  # a number that was drawn already is passed over
            numbers.update(dict.fromkeys(picks.integers(length, size=BLOCK).tolist()))
        return np.array(keys), np.array(list(numbers)[: len(keys)], dtype=np.int64)

    def keep(self, keys: Keys, rows: Float[np.ndarray, "drawn width"], group: int = 0) -> None:
        """Keep drawn rows, in any parts, if their keys are low enough.

        Raises:
            ValueError: There is not one row of ``width`` numbers for each key.
        """
        if np.shape(rows) != (len(keys), self.width):
            raise ValueError(
                f"rows of shape {(len(keys), self.width)} are needed, not {np.shape(rows)}"
            )
        self._take(keys, np.asarray(rows, dtype=np.float64), np.full(len(keys), group))

    def update(self, numbers: Array, rows: Array) -> None:
        """Add single rows of the first group, ``[n, width]``, each a stream with a number.

        Raises:
            ValueError: There is not one row of ``width`` numbers for each number.
        """
        for number, row in zip(numbers, rows, strict=True):
            keys, drawn = self.draw(int(number), 1)
            self.keep(keys, np.asarray(row)[None][drawn])

    def compute(self) -> dict[str, Array]:
        """Return `rows`, ``[groups, size, width]`` by rising key (else NaN), and `seen`."""
        rows = np.full((self.groups, self.size, self.width), np.nan)
        for group in range(self.groups):
            chosen = self.rows[self.group == group]
            rows[group, : len(chosen)] = chosen
        return {"rows": rows, "seen": self.seen.copy()}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> "Sample":
        """Return the accumulator that has these settings and this state."""
        sample = cls(**settings)
        for field in cls.fields:
            setattr(sample, field, np.array(arrays[field], dtype=getattr(sample, field).dtype))
        return sample

    def _absorb(self, other: "Sample") -> None:
        self.seen += other.seen
        self._take(other.keys, other.rows, other.group)

    def _highest(self, group: int) -> float:
        keys = self.keys[self.group == group]  # sorted by `_take`
        return float(keys[-1]) if len(keys) == self.size else 1.0

    def _take(self, keys: Array, rows: Array, group: Array) -> None:
        """Keep the lowest keys of each group, sorted by group and key."""
        keys = np.concatenate([self.keys, keys])
        rows = np.concatenate([self.rows, rows])
        group = np.concatenate([self.group, group])
        order = np.lexsort((keys, group))
        group = group[order]
        rank = np.arange(len(group)) - np.searchsorted(group, group)
        lowest = order[rank < self.size]
        self.keys, self.rows, self.group = keys[lowest], rows[lowest], group[rank < self.size]
