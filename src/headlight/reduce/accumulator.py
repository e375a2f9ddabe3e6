"""Accumulators, and the laws that they keep."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Shaped

from headlight.errors import CaptureError, setting

Array = Shaped[np.ndarray, "..."]
"""An array of any shape."""

Entry = Array | np.floating | np.integer | float | int
"""One number for each entry of an accumulator; a plain number where it has no axes."""

Rows = Float64[np.ndarray, "observation ..."]
"""Observations along the first axis; NaN where one is missing."""


class Accumulator(ABC):
    """A summary of observations that can be made in parts and merged: a commutative monoid.

    The laws, which the tests hold every accumulator to, exact or up to rounding:

    - `merge` is associative and commutative, and changes neither operand;
    - `empty()` is neutral;
    - however observations are split and merged, `compute()` is that of one pass over all of them;
    - `from_arrays(settings(), arrays())` is the same accumulator, bit for bit.

    State is float64. `update` and `absorb` change an accumulator in place; nothing else does. A
    statistic of no observations is NaN, never 0. NaN among the observations means "missing", and is
    left out entry by entry.
    """

    kind: ClassVar[str]
    """The name in files."""

    fields: ClassVar[tuple[str, ...]]
    """The attributes that hold the state, each an array."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor of an empty twin; values that JSON can hold."""

    @abstractmethod
    def update(self, *observations: Any, **options: Any) -> None:
        """See more observations."""

    @abstractmethod
    def _absorb(self, other: Any) -> None:
        """Take in what another accumulator of the same settings has seen."""

    @abstractmethod
    def compute(self) -> dict[str, Array]:
        """The statistics, by name; computing changes nothing."""

    @property
    def is_exact(self) -> bool:
        """Whether merging rounds nothing, so that its order does not matter to the last bit."""
        return False

    def empty(self) -> Any:
        """A new accumulator with the same settings that has seen nothing."""
        return type(self)(**self.settings())

    def copy(self) -> Any:
        """A new accumulator that has seen the same and shares no memory."""
        return self.from_arrays(self.settings(), self.arrays())

    def merge(self, other: Any, /) -> Any:
        """A new accumulator that has seen what both have; neither operand changes.

        Raises:
            ValueError: if `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        merged = self.copy()
        merged._absorb(other)
        return merged

    def take(self, other: Any, /) -> None:
        """See what `other` has as well, in place: `merge` without a copy; `other` does not change.

        Raises:
            ValueError: if `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        self._absorb(other)

    def _check_mergeable(self, other: Any) -> None:
        if type(self) is not type(other) or self.settings() != other.settings():
            raise ValueError(f"cannot merge {other!r} into {self!r}: they differ in settings")

    def arrays(self) -> dict[str, Array]:
        """Copies of the whole state, by field."""
        return {field: getattr(self, field).copy() for field in self.fields}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
        """The accumulator that has these settings and this state."""
        accumulator = cls(**settings)
        for field in cls.fields:
            setattr(accumulator, field, np.array(arrays[field], dtype=np.float64))
        return accumulator

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({inside})"


def rows_of(observations: Array, shape: Sequence[int]) -> Rows:
    """Observations as float64, one per row.

    Raises:
        CaptureError: if one is infinite, and so has no mean.
        ValueError: if a row does not have the shape that the accumulator was made for.
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
