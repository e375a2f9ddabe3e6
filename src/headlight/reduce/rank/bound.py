"""Spearman's correlation of tables of pairs, and how far from the truth it can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from jaxtyping import Float64, Int32, Int64

from headlight.reduce.rank.pairs import COUNT, NONE, PLACE, PRODUCT, SEVERAL, SHARED, joined
from headlight.reduce.rank.table import RankTable

ROUNDING = 1e-12
"""What the arithmetic of float64 adds to the bound."""

Bins = Float64[np.ndarray, " bin"]
Codes = Float64[np.ndarray, "part place"]
Counts = Int64[np.ndarray, "part place"]
Parts = Int64[np.ndarray, " part"]
Variance = tuple[float, float, float]
Sums = Float64[np.ndarray, "other sum=4 bin"]


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of one variable among all pairs, from -1/2 to 1/2."""

    bins: Parts
    """Those whose codes are here, rising."""
    middle: Codes
    """The mean rank of the numbers of each code."""
    hidden: float
    """Σ (rank - mean rank of its code)², at most: 0 for codes that one number alone had."""
    variance: Variance
    """The least, the likely and the most that the variance of the ranks can be."""

    @staticmethod
    def of(bins: Parts, counts: Counts, only: Int32[np.ndarray, "part place"]) -> "Ranks":
        """Ranks from how often each code was seen, and whether by one number alone."""
        count, total = counts.astype(np.float64), float(counts.sum())  # total² is no int64
        middle = (np.cumsum(counts).reshape(counts.shape) - counts / 2) / total - 0.5
        least = float((middle**2 * count).sum()) / total
        several = np.where(only == SEVERAL, count, 0.0)
        hidden = float((several**3 - several).sum()) / 12 / total**2
        tied = float((_peaks(several) ** 3).sum()) / 12 / total**2
        likely = least + max(hidden - tied, 0.0) / total
        return Ranks(bins, middle, hidden, (least, likely, least + hidden / total))


@dataclass(frozen=True, eq=False)
class Lines:
    """The ranks of one variable in one table, as a straight line over the places of each bin.

    A mean rank is constant + slope · place + error.  Lines of least squares: within each bin the
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
    """Σ error²."""

    def covered(self, plain: Bins, placed: Bins) -> float:
        """Σ of the squares of another variable's lines of least squares over the places here.

        Args:
            plain: The sum of the other variable in each bin.
            placed: The sum of its products with the place.
        """
        tilt = placed - self.mean * plain
        return float(_ratio(plain**2, self.count).sum() + _ratio(tilt**2, self.spread).sum())


def spearman(tables: Sequence[RankTable]) -> tuple[int, float, float]:
    """The pairs of all tables together: how many, ρ, and the most that |ρ - exact ρ| can be.

    Both are NaN where ρ is undefined.  The rank of a number among all pairs is written as
    x = l + e + h: the line over the places of its bin, the error of that line at the mean rank of
    its code, and how far the number is from that mean, which is not known.  Then

        Σ x x' = Σ l l'  +  Σ l (e' + h')  +  Σ (e + h) l'  +  Σ (e + h) (e' + h').

    The first sum follows exactly from the cells of the tables.  The others are bounded by Cauchy
    and Schwarz.  In the second, e' is orthogonal to everything that is linear over the bins of x',
    so only the rest r of l counts: |Σ l e'| ≤ ‖r‖ ‖e'‖ with ‖r‖² = ‖l‖² - ‖its part that is linear
    there‖².  h' is orthogonal to it as well, but among all pairs only, and so where there is one
    table; with several, |Σ l h'| ≤ ‖l‖ ‖h'‖.  The third sum is treated alike.
    """
    tables = [table for table in tables if len(table.rows)]
    count = sum(int(table.first_counts.sum()) for table in tables)
    if count < 2:
        return count, np.nan, np.nan
    first, second = _first_ranks(tables), _second_ranks(tables)
    sums = np.sum([_shared(table, first, second) for table in tables], axis=0)
    products, first_error, second_error, first_rest, second_rest, first_all, second_all = sums
    if len(tables) == 1:
        first_whole = np.sqrt(first_error + first.hidden)
        second_whole = np.sqrt(second_error + second.hidden)
        error = first_whole * np.sqrt(second_rest) + second_whole * np.sqrt(first_rest)
    else:
        first_whole = np.sqrt(first_error) + np.sqrt(first.hidden)
        second_whole = np.sqrt(second_error) + np.sqrt(second.hidden)
        error = np.sqrt(first_error * second_rest) + np.sqrt(first.hidden * second_all)
        error += np.sqrt(second_error * first_rest) + np.sqrt(second.hidden * first_all)
    error += first_whole * second_whole
    return count, *_correlation(products / count, error / count, first.variance, second.variance)


def _shared(table: RankTable, first: Ranks, second: Ranks) -> Float64[np.ndarray, "sum=7"]:
    """Of one table: Σ of products of lines, of squares of errors, of what is not shared, of all."""
    one, two = _first_lines(table, first), _second_lines(table, second)
    cells = table.cells.astype(np.float64)
    two_here = _sums(cells, two)
    one_there = _sums(cells[:, [COUNT, SHARED, PLACE, PRODUCT]].swapaxes(0, 2), one)
    return np.array(
        [
            (one.constant * two_here[0] + one.slope * two_here[1]).sum(),
            one.error,
            two.error,
            max(one.squares - two.covered(*one_there), 0.0),
            max(two.squares - one.covered(*two_here), 0.0),
            one.squares,
            two.squares,
        ]
    )


def _first_ranks(tables: Sequence[RankTable]) -> Ranks:
    counts = np.sum([table.first_counts for table in tables], axis=0)
    only = reduce(joined, [table.first_only for table in tables])
    return Ranks.of(np.arange(len(counts)), counts, only)


def _second_ranks(tables: Sequence[RankTable]) -> Ranks:
    bins = reduce(np.union1d, [table.second_rows for table in tables])
    counts = np.zeros((len(bins), tables[0].second_counts.shape[1]), dtype=np.int64)
    only = np.full(counts.shape, NONE, dtype=np.int32)
    for table in tables:
        here = np.searchsorted(bins, table.second_rows)
        counts[here] += table.second_counts
        only[here] = joined(only[here], table.second_only)
    return Ranks.of(bins, counts, only)


def _first_lines(table: RankTable, ranks: Ranks) -> Lines:
    """Lines over the bins of the variable that differs from pair to pair."""
    bins, places = table.first_counts.shape
    place = np.broadcast_to(np.arange(places), (bins, places))
    return _lines(ranks.middle, table.first_counts, place, np.arange(bins))


def _second_lines(table: RankTable, ranks: Ranks) -> Lines:
    """Lines over the rows of the table, each one or more bins of the variable of columns."""
    bins, places = table.second_rows - 1, table.second_counts.shape[1]
    row = bins >> table.level
    inside = np.where(bins >= 0, bins - (row << table.level), 0) * places
    middle = ranks.middle[np.searchsorted(ranks.bins, table.second_rows)]
    local = np.searchsorted(table.rows, row)
    return _lines(middle, table.second_counts, inside[:, None] + np.arange(places), local)


def _lines(middle: Codes, counts: Counts, place: Counts, bins: Parts) -> Lines:
    """Lines of least squares through the ranks of codes.

    Args:
        middle: The rank of each code.
        counts: How often the code was seen.
        place: Of each code in its bin, or row.
        bins: Which bin, or row, the codes of one row belong to, from 0.
    """

    def summed(values: Codes) -> Bins:
        return np.bincount(bins, (values * counts).sum(axis=1))

    seen = summed(np.ones(counts.shape))
    mean, height = _ratio(summed(place.astype(np.float64)), seen), _ratio(summed(middle), seen)
    away = place - mean[bins, None]
    spread = summed(away**2)
    slope = _ratio(summed(away * (middle - height[bins, None])), spread)
    line = height[bins, None] + slope[bins, None] * away
    return Lines(
        count=seen,
        mean=mean,
        spread=spread,
        constant=height - slope * mean,
        slope=slope,
        squares=float(summed(line**2).sum()),
        error=float(summed((middle - line) ** 2).sum()),
    )


def _sums(cells: Sums, other: Lines) -> tuple[Bins, Bins]:
    """The sum of the other variable's lines in each bin, and of their products with the place."""
    plain = np.einsum("ob,o->b", cells[:, COUNT], other.constant)
    plain += np.einsum("ob,o->b", cells[:, SHARED], other.slope)
    placed = np.einsum("ob,o->b", cells[:, PLACE], other.constant)
    placed += np.einsum("ob,o->b", cells[:, PRODUCT], other.slope)
    return plain, placed


def _correlation(
    covariance: float, error: float, first: Variance, second: Variance
) -> tuple[float, float]:
    """ρ and its bound, from a covariance known up to an error, and variances known in between."""
    least, likely, most = (
        np.sqrt(one) * np.sqrt(two) for one, two in zip(first, second, strict=True)
    )
    if most == 0:
        return np.nan, np.nan
    correlation = float(np.clip(covariance / (likely or most), -1, 1))
    if least == 0:
        return correlation, 1 + abs(correlation)
    ends = [(covariance + sign * error) / size for sign in (-1, 1) for size in (least, most)]
    low, high = np.clip([min(ends), max(ends)], -1, 1)
    return correlation, float(max(high - correlation, correlation - low)) + ROUNDING


def _peaks(counts: Codes) -> Codes:
    """How often one number had the code, where it was seen far more often than its neighbours."""
    flat = np.pad(counts.ravel(), 1)
    beside = (flat[:-2] + flat[2:]).reshape(counts.shape)
    peaks: Codes = np.where(counts > 2 * beside, counts - beside / 2, 0.0)
    return peaks


def _ratio(top: Bins, bottom: Bins) -> Bins:
    ratio: Bins = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return ratio
