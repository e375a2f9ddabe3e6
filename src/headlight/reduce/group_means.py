"""Means over texts, and what they would be without the texts of each of some groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.base import Accumulator, Array, rows_of

GROUPS = 32
"""Groups of texts: their number less one is the degrees of freedom of what is made of them."""


class GroupMeans(Accumulator):
    """Ratios of the means of two variables, for all texts and without those of each group.

    A mean is the ratio to a variable that is 1.  Which group a text is in depends on the text
    alone, so that two runs that read the same texts leave out the same ones: what texts have in
    common cancels in the difference of both (the delete-a-group jackknife).  Memory is that of two
    sums for each group.

    Args:
        shape: The axes of one observation of either variable.
        groups: How many there are.
    """

    kind = "group_means"
    fields = ("parts", "wholes")

    def __init__(self, shape: Sequence[int] = (), groups: int = GROUPS) -> None:
        self.shape = tuple(shape)
        self.groups = groups
        self.parts = np.zeros((groups, *self.shape))
        self.wholes = np.zeros((groups, *self.shape))

    @classmethod
    def of(cls, group: Array, parts: Array, wholes: Array | None = None) -> "GroupMeans":
        """Of observations that are at hand; see `update`."""
        made = cls(np.shape(parts)[1:])
        made.update(group, parts, np.ones(np.shape(parts)) if wholes is None else wholes)
        return made

    def settings(self) -> dict[str, Any]:
        """`shape` and `groups`."""
        return {"shape": list(self.shape), "groups": self.groups}

    def update(self, group: Array, parts: Array, wholes: Array) -> None:
        """See texts along the first axis; a pair with a NaN is missing.

        Args:
            group: ``[n]`` numbers of groups, from 0.
            parts: ``[n, *shape]``.
            wholes: ``[n, *shape]``.

        Raises:
            ValueError: if a shape is another, or there is not one group to each text.
        """
        part, whole = rows_of(parts, self.shape), rows_of(wholes, self.shape)
        if not len(group) == len(part) == len(whole):
            raise ValueError(f"{len(group)} groups, {len(part)} parts and {len(whole)} wholes")
        missing = np.isnan(part) | np.isnan(whole)
        for sums, rows in ((self.parts, part), (self.wholes, whole)):
            for number, row in zip(np.asarray(group), np.where(missing, 0, rows), strict=True):
                sums[int(number)] += row

    def _absorb(self, other: "GroupMeans") -> None:
        self.parts += other.parts
        self.wholes += other.wholes

    def compute(self) -> dict[str, Array]:
        """`mean`, of ``shape``; `without` each group, and the `whole` of each, ``[group, *shape]``.

        What has no whole is NaN.
        """
        # Of one number numpy would make a number, and no array.
        part, whole = np.asarray(self.parts.sum(0)), np.asarray(self.wholes.sum(0))
        return {
            "mean": _ratio(part, whole),
            "without": _ratio(part - self.parts, whole - self.wholes),
            "whole": self.wholes.copy(),
        }


def _ratio(part: Array, whole: Array) -> Array:
    return np.asarray(part / np.where(whole != 0, whole, np.nan))
