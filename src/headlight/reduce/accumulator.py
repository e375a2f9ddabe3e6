"""Accumulators, and the laws that they obey."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Shaped

from headlight.errors import CaptureError, setting

Array = Shaped[np.ndarray, "..."]
"""An array of any shape."""

Entry = Array | np.floating | np.integer | float | int
"""A number for each entry of an accumulator; a plain number where it has no axes."""

Rows = Float64[np.ndarray, "observation ..."]
"""Observations along the first axis; NaN where one is missing."""


class Accumulator(ABC):
    """A summary of observations that can be made in parts and merged: a commutative monoid.

    These laws, which are tested for every accumulator, hold exactly or up to rounding:

    - `merge` is associative and commutative, and changes neither operand;
    - `empty()` is neutral;
    - however observations are split and merged, `compute()` gives the result of one pass over all;
    - `from_arrays(settings(), arrays())` is the same accumulator, bit for bit.

    State is float64. `update`, `absorb` and `take` change an accumulator in place; `merge` and
    `compute` do not. A statistic of no observations is NaN, never 0. NaN among the observations
    means "missing", and is left out entry by entry.
    """

    kind: ClassVar[str]
    """Name of the accumulator in files."""

    fields: ClassVar[tuple[str, ...]]
    """Names of the attributes that hold the state, each an array."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor of an empty twin, as values for JSON."""

    @abstractmethod
    def update(self, *observations: Any, **options: Any) -> None:
        """Add observations."""

    @abstractmethod
    def _absorb(self, other: Any) -> None:
        """Add the observations of another accumulator with the same settings."""

    @abstractmethod
    def compute(self) -> dict[str, Array]:
        """Return the statistics by name, without changing the state."""

    @property
    def is_exact(self) -> bool:
        """Return whether merging rounds nothing, so that its order does not change a bit."""
        return False

    def empty(self) -> Any:
        """Return a new accumulator with the same settings and no observations."""
        return type(self)(**self.settings())

    def copy(self) -> Any:
        """Return a new accumulator with the same observations that shares no memory."""
        return self.from_arrays(self.settings(), self.arrays())

    def merge(self, other: Any, /) -> Any:
        """Return a new accumulator with the observations of both; neither operand changes.

        Raises:
            ValueError: `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        merged = self.copy()
        merged._absorb(other)
        return merged

    def take(self, other: Any, /) -> None:
        """Add the observations of `other` in place: `merge` without a copy of the state.

        Raises:
            ValueError: `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        self._absorb(other)

    def _check_mergeable(self, other: Any) -> None:
        if type(self) is not type(other) or self.settings() != other.settings():
            raise ValueError(f"cannot merge {other!r} into {self!r}: they differ in settings")

    def arrays(self) -> dict[str, Array]:
        """Return copies of the whole state, by field."""
        return {field: getattr(self, field).copy() for field in self.fields}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
        """Return the accumulator that has these settings and this state."""
        accumulator = cls(**settings)
        for field in cls.fields:
            setattr(accumulator, field, np.array(arrays[field], dtype=np.float64))
        return accumulator

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({inside})"


def rows_of(observations: Array, shape: Sequence[int]) -> Rows:
    """Return observations as float64, one per row.

    Raises:
        CaptureError: An observation is infinite, and so has no mean.
        ValueError: A row does not have the shape for which the accumulator was made.
    """
    rows = np.asarray(observations, dtype=np.float64)
    if rows.shape[1:] != tuple(shape) or rows.ndim == 0:
        expected = ("n", *shape)
        raise ValueError(f"observations of shape {expected} are needed, not {rows.shape}")
    if np.isinf(rows).any():
        raise CaptureError(
            "what was measured is infinite, and so has no mean; look at the weights of the model, "
            f"or load it in a wider precision ({setting('dtype=')})."
        )
    return rows
