"""Second moments of vectors, and the number of directions in which these lie."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, Entry, rows_of


class SecondMoment(Accumulator):
    """Sums of v vᵀ of the vectors v of each entry, not centred: a constant vector is one direction.

    Args:
        shape: Axes of one observation, without that of its vectors.
        size: Number of dimensions of a vector.
    """

    kind = "second_moment"
    fields = ("count", "products")

    def __init__(self, shape: Sequence[int] = (), size: int = 1) -> None:
        self.shape = tuple(shape)
        self.size = size
        self.count = np.zeros(self.shape)
        self.products = np.zeros((*self.shape, size, size))

    def settings(self) -> dict[str, Any]:
        """Return `shape` and `size`."""
        return {"shape": list(self.shape), "size": self.size}

    def update(self, vectors: Array) -> None:
        """Add vectors, ``[n, *shape, size]``; a vector with a NaN is missing.

        Raises:
            ValueError: The vectors have another shape.
        """
        rows = rows_of(vectors, (*self.shape, self.size))
        seen = ~np.isnan(rows).any(-1)
        rows = np.where(seen[..., None], rows, 0.0)
        self.absorb(seen.sum(0), np.einsum("n...i,n...j->...ij", rows, rows))

    def absorb(self, count: Entry, products: Array) -> None:
        """Add sums that were computed elsewhere, for example on a GPU.

        Args:
            count: Number of vectors of each entry.
            products: Sum of their v vᵀ, ``[*shape, size, size]``.
        """
        self.count += count
        self.products += products

    def _absorb(self, other: "SecondMoment") -> None:
        self.absorb(other.count, other.products)

    def compute(self) -> dict[str, Array]:
        """Return `count` of vectors, and their effective `rank`, from 1 to `size`.

        The effective rank is the participation ratio (Σλ)² / Σλ² of the eigenvalues λ of the second
        moment: n where the vectors lie evenly in n directions.  It follows from trace and Frobenius
        norm, without eigenvalues.  NaN where all vectors are 0, or there are none.

        Source: Gao et al. (2017), "A theory of multineuronal dimensionality, dynamics and
            measurement", bioRxiv 214262, of covariances, which are centred.
        """
        trace = np.trace(self.products, axis1=-2, axis2=-1)
        trace = np.where(trace > 0, trace, np.nan)
        shares = self.products / trace[..., None, None]
        return {"count": self.count.copy(), "rank": np.asarray(1 / (shares**2).sum((-2, -1)))}
