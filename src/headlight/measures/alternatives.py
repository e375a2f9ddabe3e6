"""Other attention of the same output, within the simplex (Brunner et al. 2020, Section 3.3).

One row of attention at a time: a ≥ 0 over the keys that its query sees.  Its alternatives are the
polytope of all x ≥ 0 with x [T, 1] = a [T, 1].  In float64.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

Row = Float64[np.ndarray, " key"]
Matrix = Float64[np.ndarray, "key column"]
Directions = Float64[np.ndarray, "key direction"]

SMALLEST = 1e-9
"""Total variation and solutions of linear programs below this are rounding."""
STEPS = 50
"""Linearisations at most; they end by themselves after a few."""
# HiGHS itself takes 1e-7, which is coarser than `SMALLEST`.
PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class RowAlternatives:
    """The alternatives of one row of attention.

    Attributes:
        row: Row a of attention, at least 0.
        basis: Orthonormal columns that span those of [T, 1] on the same keys.
    """

    row: Row
    basis: Matrix

    @cached_property
    def exist(self) -> bool:
        """Return whether there is any x but a itself.

        A key of weight 0 can only gain.  So there are alternatives if LN([T, 1]) has a direction
        in which all such keys stay, or a direction in which they gain.
        """
        return bool(self._null_basis_of_support.shape[1]) or self._gain is not None

    def random(self, generator: np.random.Generator) -> Row:
        """Return λ_max ã for a random direction ã of LN([T, 1]); zero if there is no alternative.

        Keys with a weight of exactly 0 stay at 0, since most directions would not be possible at
        all otherwise; unless they can only gain all together.

        Source: Brunner et al. (2020), Section 3.3, Eq. 7.
        """
        null = self._null_basis_of_support
        if not null.shape[1]:
            return np.zeros_like(self.row) if self._gain is None else self._gain
        direction = np.zeros_like(self.row)
        direction[self._support] = null @ generator.standard_normal(null.shape[1])
        return largest_step(self.row, direction) * direction

    def farthest(self, generator: np.random.Generator, starts: int) -> list[Row]:
        """Find changes x − a that are local maxima of the total variation, the largest first.

        The total variation is convex, so its maximum lies at one of the very many corners.  From
        every start, linear programs maximise its linearisation at the last corner, by which it
        never falls, until it stands still.  The first start takes as much weight from where a has
        it as can be; the others are corners in random directions.

        Source: Brunner et al. (2020), Section 3.3, for the question; the method is ours.
        """
        if not self.exist:
            return [np.zeros_like(self.row)] * starts
        objectives = [self.row, *generator.standard_normal((starts - 1, len(self.row)))]
        changes = [self._climb(self._minimum(objective)) - self.row for objective in objectives]
        return sorted(changes, key=total_variation, reverse=True)

    def corner(self) -> Row:
        """Return the change x − a to the corner with the least weight where a has it.

        This is where the first climb of `farthest` begins; zero if there is no alternative.
        """
        return self._minimum(self.row) - self.row if self.exist else np.zeros_like(self.row)

    def bound(self, *, tight: bool = False) -> float:
        """Return an upper bound of every alternative's total variation, by linear programming.

        TV = Σ max(a − x, 0), and over l ≤ x ≤ u each summand lies below the chord between its ends.
        Maximising the sum of the chords is one linear program.  l and u are 0 and the sum of the
        row; or, ``tight``, the least and greatest weight of every key, by two programs each.
        """
        if not self.exist:
            return 0.0
        lowest, highest = self._ranges() if tight else (0.0 * self.row, 0.0 * self.row + self.total)
        slope = (self.row - lowest) / np.maximum(highest - lowest, SMALLEST)
        least = float(slope @ (self._minimum(slope) - lowest))
        return max(float((self.row - lowest).sum()) - least, 0.0)

    @property
    def total(self) -> float:
        """Return the sum of the row."""
        return float(self.row.sum())

    @property
    def _support(self) -> Bool[np.ndarray, " key"]:
        return self.row > 0

    @cached_property
    def _null_basis_of_support(self) -> Directions:
        return null_basis(self.basis[self._support])

    @cached_property
    def _gain(self) -> Row | None:
        """Return the largest change by which the keys of weight 0 gain, if they can."""
        unused = (~self._support).astype(np.float64)
        if not unused.any():
            return None
        change = self._minimum(-unused) - self.row
        return change if total_variation(change) > SMALLEST else None

    def _climb(self, corner: Row) -> Row:
        """Move from corner to corner while the total variation grows."""
        for _ in range(STEPS):
            following = self._minimum(np.where(corner > self.row, -1.0, 1.0))
            gained = total_variation(following - self.row) - total_variation(corner - self.row)
            if gained <= SMALLEST:
                break
            corner = following
        return corner

    def _ranges(self) -> tuple[Row, Row]:
        units = np.eye(len(self.row))
        lowest = np.array([self._minimum(unit) @ unit for unit in units])
        highest = np.array([self._minimum(-unit) @ unit for unit in units])
        # a is an alternative itself, whatever the tolerance of the programs says.
        return np.minimum(lowest, self.row), np.maximum(highest, self.row)

    def _minimum(self, objective: Row) -> Row:
        """Return the alternative that minimises a linear objective, by HiGHS."""
        from scipy.optimize import linprog  # slow to import

        sums = {"A_eq": self.basis.T, "b_eq": self.basis.T @ self.row}
        solved: Any = linprog(objective, **sums, method="highs", options=PRECISION)
        if solved.x is None:  # a itself is feasible; only rounding can deny it
            return self.row.copy()
        return np.asarray(np.maximum(solved.x, 0.0))  # HiGHS keeps bounds to its tolerance only


def column_basis(columns: Float64[np.ndarray, "key spanning"], width: int) -> Matrix:
    """Return orthonormal columns that span the given ones.

    Args:
        columns: Columns of [T, 1] as `with_ones` gives them, for one head.
        width: Number of columns of [T, 1] itself, for the rank tolerance of numpy.
    """
    basis, values, _ = np.linalg.svd(columns, full_matrices=False)
    tolerance = values.max(initial=0.0) * max(len(columns), width) * np.finfo(np.float64).eps
    return basis[:, values > tolerance]


def null_basis(basis: Matrix) -> Directions:
    """Return an orthonormal basis of the complement of the columns of some rows of a basis."""
    vectors, values, _ = np.linalg.svd(basis)
    rank = int((values > max(basis.shape, default=1) * np.finfo(np.float64).eps * 8).sum())
    directions: Directions = vectors[:, rank:]
    return directions


def largest_step(row: Row, direction: Row) -> float:
    """Return λ_max = min over ã_i < 0 of −a_i / ã_i; 0 for no direction at all.

    Source: Brunner et al. (2020), Section 3.3, Eq. 7.
    """
    falls = direction < 0
    return float((row[falls] / -direction[falls]).min(initial=np.inf)) if falls.any() else 0.0


def total_variation(change: Row) -> float:
    """Return half the sum of the absolute changes: from 0 to 1 for distributions."""
    return 0.5 * float(np.abs(change).sum())
