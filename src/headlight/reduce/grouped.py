"""Accumulators by group, for example for each length of a text."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array
from headlight.reduce.histogram import Histogram
from headlight.reduce.moments import Count, Moments
from headlight.reduce.pearson import Pearson

PLAIN: Mapping[str, type[Accumulator]] = {
    accumulator.kind: accumulator for accumulator in (Count, Moments, Histogram, Pearson)
}
"""Accumulators that can be grouped, by their name in files."""


class Grouped(Accumulator):
    """Accumulators by whole-number key; keys need not be known beforehand.

    Args:
        of: Empty accumulator with which each group begins; or its description by kind and settings.
    """

    kind = "grouped"

    def __init__(self, of: Accumulator | Mapping[str, Any]) -> None:
        self.of = of.empty() if isinstance(of, Accumulator) else _from_description(of)
        self.groups: dict[int, Accumulator] = {}

    @property
    def is_exact(self) -> bool:
        """Return whether the accumulators of the groups are exact."""
        return bool(self.of.is_exact)

    def settings(self) -> dict[str, Any]:
        """Return `of`, the kind and settings of the accumulator of a group."""
        return {"of": {"kind": self.of.kind, "settings": self.of.settings()}}

    def update(self, keys: Array, *observations: Array) -> None:
        """Add observations, `[n, ...]`, each with the key of its group.

        Args:
            keys: Whole numbers, `[n]`.
            observations: Arguments for the accumulator of a group, along the same first axis.

        Raises:
            ValueError: There is not one key for each observation.
        """
        if any(len(rows) != len(keys) for rows in observations):
            raise ValueError(f"{len(keys)} keys do not fit as many observations as were given")
        for key in np.unique(keys):
            chosen = keys == key
            self.at(int(key)).update(*(rows[chosen] for rows in observations))

    def at(self, key: int) -> Any:
        """Return the accumulator of one group, created if missing; updating it updates this one."""
        if key not in self.groups:
            self.groups[key] = self.of.empty()
        return self.groups[key]

    def _absorb(self, other: "Grouped") -> None:
        for key, group in other.groups.items():
            self.at(key)._absorb(group)

    def compute(self) -> dict[str, Array]:
        """Return `key` in increasing order, and the statistics of groups along a new first axis."""
        keys = sorted(self.groups)
        statistics = [self.groups[key].compute() for key in keys]
        stacked = {
            # Reshaped, so that a statistic has its axes where there is no group, too.
            name: np.array([row[name] for row in statistics]).reshape(-1, *nothing.shape)
            for name, nothing in self.of.compute().items()
        }
        return {"key": np.array(keys, dtype=np.int64), **stacked}

    def arrays(self) -> dict[str, Array]:
        """Return `key` in increasing order, and the state of the groups along a new first axis."""
        keys = sorted(self.groups)
        states = [self.groups[key].arrays() for key in keys]
        stacked = {
            field: np.array([state[field] for state in states]).reshape(-1, *nothing.shape)
            for field, nothing in self.of.arrays().items()
        }
        return {"key": np.array(keys, dtype=np.int64), **stacked}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> "Grouped":
        """Return the accumulator that has these settings and this state."""
        grouped = cls(**settings)
        for row, key in enumerate(arrays["key"].tolist()):
            state = {field: np.asarray(arrays[field][row]) for field in grouped.of.fields}
            grouped.groups[key] = grouped.of.from_arrays(grouped.of.settings(), state)
        return grouped


def _from_description(description: Mapping[str, Any]) -> Any:
    return PLAIN[description["kind"]](**description["settings"])
