"""Spearman's correlation of a table of pairs, and how far from the truth it can be."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32, Int64

from headlight.reduce.rank_table import COUNT, PLACE, PRODUCT, SEVERAL, SHARED, RankTable

ROUNDING = 1e-12
"""What the arithmetic of float64 adds to the bound."""

Bins = Float64[np.ndarray, " bin"]
Codes = Float64[np.ndarray, " code"]
Sums = Float64[np.ndarray, "other sum=4 bin"]


@dataclass(frozen=True, eq=False)
class Lines:
    """The ranks of one variable, from -1/2 to 1/2, as a straight line over the places of each bin.

    A mid-rank is constant + slope · place + error.  Lines of least squares: within each bin the
    errors sum to zero, and so do their products with the place.
    """

    count: Bins
    mean: Bins
    """The mean place."""
    spread: Bins
    """Σ (place - mean)²."""
    constant: Bins
    slope: Bins
    squares: float
    """Σ of the squares of the lines, over all pairs."""
    error: float
    """Σ error², at most."""
    variance: tuple[float, float]
    """The least and the most that the variance of the mid-ranks can be."""

    def covered(self, plain: Bins, placed: Bins) -> float:
        """Σ of the squares of another variable's lines of least squares over the places here.

        Args:
            plain: The sum of the other variable in each bin.
            placed: The sum of its products with the place.
        """
        tilt = placed - self.mean * plain
        return float(_ratio(plain**2, self.count).sum() + _ratio(tilt**2, self.spread).sum())


def spearman(table: RankTable) -> tuple[int, float, float]:
    """The number of pairs, ρ, and the most that |ρ - exact ρ| can be; NaN where ρ is undefined.

    Σxy of two variables that are lines plus errors: of the lines alone it follows from the cells.
    The rest is at most what Cauchy and Schwarz say of the errors and of what the other variable's
    lines do that is no line here, to which alone the errors can be parallel.
    """
    count = int(table.first_counts.sum())
    if count < 2:
        return count, np.nan, np.nan
    first, second = first_lines(table), second_lines(table)
    cells = table.cells.astype(np.float64)
    second_here = _sums(cells, second)
    first_there = _sums(cells[:, [COUNT, SHARED, PLACE, PRODUCT]].swapaxes(0, 2), first)
    products = (first.constant * second_here[0] + first.slope * second_here[1]).sum()
    first_rest = max(first.squares - second.covered(*first_there), 0.0)
    second_rest = max(second.squares - first.covered(*second_here), 0.0)
    error = (
        np.sqrt(first.error * second_rest)
        + np.sqrt(second.error * first_rest)
        + np.sqrt(first.error * second.error)
    )
    return count, *_correlation(products / count, error / count, first.variance, second.variance)


def first_lines(table: RankTable) -> Lines:
    """The ranks of the variable that differs from pair to pair."""
    places = np.arange(table.first_counts.shape[1], dtype=np.int64)
    bins = np.repeat(np.arange(len(table.first_counts)), len(places))
    tiled = np.tile(places, len(table.first_counts))
    return lines(table.first_counts.ravel(), table.first_only.ravel(), tiled, bins)


def second_lines(table: RankTable) -> Lines:
    """The ranks of the variable that columns share, with the rows of the table as bins."""
    places, bins = table.second_counts.shape[1], table.second_rows - 1
    row = bins >> table.level
    inside = np.where(bins >= 0, bins - (row << table.level), 0) * places
    place = (inside[:, None] + np.arange(places)).ravel()
    local = np.repeat(np.searchsorted(table.rows, row), places)
    return lines(table.second_counts.ravel(), table.second_only.ravel(), place, local)


def lines(
    counts: Int64[np.ndarray, " code"],
    only: Int32[np.ndarray, " code"],
    place: Int64[np.ndarray, " code"],
    bins: Int64[np.ndarray, " code"],
) -> Lines:
    """The lines of ranks, from how often each code was seen.

    Args:
        counts: How often, in the order of the codes.
        only: `SEVERAL` where it was not one number alone, so that it has ranks that differ.
        place: Of each code in its bin.
        bins: The bin of each code, rising from 0.
    """
    count, place = counts.astype(np.float64), place.astype(np.float64)
    total = count.sum()
    rank = (np.cumsum(counts) - counts / 2) / total - 0.5
    hidden = np.where(only == SEVERAL, count**3 - count, 0.0).sum() / 12 / total**2

    def summed(values: Codes) -> Bins:
        return np.bincount(bins, values * count)

    seen = summed(np.ones_like(count))
    mean, middle = _ratio(summed(place), seen), _ratio(summed(rank), seen)
    away = place - mean[bins]
    spread = summed(away**2)
    slope = _ratio(summed(away * (rank - middle[bins])), spread)
    line = middle[bins] + slope[bins] * away
    squares = float((line**2 * count).sum())
    known = float((rank**2 * count).sum())
    return Lines(
        count=seen,
        mean=mean,
        spread=spread,
        constant=middle - slope * mean,
        slope=slope,
        squares=squares,
        error=float(((rank - line) ** 2 * count).sum()) + hidden,
        variance=(known / total, (known + hidden) / total),
    )


def _sums(cells: Sums, other: Lines) -> tuple[Bins, Bins]:
    """The sum of the other variable's lines in each bin, and of their products with the place."""
    plain = np.einsum("ob,o->b", cells[:, COUNT], other.constant)
    plain += np.einsum("ob,o->b", cells[:, SHARED], other.slope)
    placed = np.einsum("ob,o->b", cells[:, PLACE], other.constant)
    placed += np.einsum("ob,o->b", cells[:, PRODUCT], other.slope)
    return plain, placed


def _correlation(
    covariance: float, error: float, first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """ρ and its bound, from a covariance known up to an error, and variances known in between."""
    least, most = np.sqrt(first[0] * second[0]), np.sqrt(first[1] * second[1])
    if most == 0:
        return np.nan, np.nan
    middle = np.sqrt(sum(first) / 2) * np.sqrt(sum(second) / 2)
    correlation = float(np.clip(covariance / middle, -1, 1))
    if least == 0:
        return correlation, 1 + abs(correlation)
    ends = [(covariance + sign * error) / size for sign in (-1, 1) for size in (least, most)]
    low, high = np.clip([min(ends), max(ends)], -1, 1)
    return correlation, float(max(high - correlation, correlation - low)) + ROUNDING


def _ratio(top: Bins, bottom: Bins) -> Bins:
    ratio: Bins = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return ratio
