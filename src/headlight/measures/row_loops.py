"""Sums over one row of attention while it is in the cache: functions that compiled loops call.

A row is read a few times, each time in a loop that the compiler makes steps of several cells of.
Numbers are float32, whose sums over a row keep seven digits since they have as many parts as a step
has cells; sums over the rows of a text are float64.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, no_type_check

import numpy as np

from headlight.measures.compiled_loops import compile_loop
from headlight.measures.float32_logarithm import (
    HALF,
    LN_2,
    MANTISSA,
    ONE,
    P0,
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    ROOT_HALF_BITS,
)
from headlight.reduce.accumulator import Array


class Listed(NamedTuple):
    """Keys that are listed for the queries of a batch.

    Attributes:
        bounds: ``list row``; where the keys of each query of each text begin in `keys`.
        keys: Keys of all lists, one list after the other.
        copies: Number of lists, the last ones, of which it is asked whether a listed key gets as
            much as any key.
    """

    bounds: Array
    keys: Array
    copies: int


class RowArrays(NamedTuple):
    """Arrays that the sums of rows are written to, ``batch head query`` where nothing else is said.

    Attributes:
        entropy: Entropy of the absolute values.
        size: Sum of the absolute values.
        square: Sum of the squares.
        pairs: What goes to the keys of each list, along one more axis; of copies whether one gets
            as much as any key.
        received: ``batch head key``; what goes to each key from rows as shares, float64.
        diagonal: ``batch head place``; what goes to the keys at each offset, from ``1 - keys``,
            float64.
    """

    entropy: Array
    size: Array
    square: Array
    pairs: Array
    received: Array
    diagonal: Array


@no_type_check
def _times_logarithm(share):
    """A share times its logarithm, in float32; 0 of 0."""
    bits = np.float32(share).view(np.int32)
    octave = np.int32(np.int32(bits - ROOT_HALF_BITS) >> MANTISSA)
    x = np.int32(bits - np.int32(octave << MANTISSA)).view(np.float32) - ONE
    rest = (((P8 * x + P7) * x + P6) * x + P5) * x + P4
    rest = (((rest * x + P3) * x + P2) * x + P1) * x + P0
    return share * (x + x * x * (x * rest - HALF) + np.float32(octave) * LN_2)


@no_type_check
def _entropy_of_sizes(row, size, peak):
    """−Σ p ln p of absolute values; the logarithm of the largest p, near 1, is that of the rest."""
    if size == 0:
        return np.float32(0)
    inverse, entropy = np.float32(1) / size, np.float32(0)
    rest, peaks = np.float32(0), np.float32(0)
    for key in range(len(row)):
        entry = abs(row[key])
        below = entry if entry < peak else np.float32(0)
        rest += below
        peaks += np.float32(1) if entry >= peak else np.float32(0)
        entropy -= _times_logarithm(below * inverse)
    top = peaks * peak
    return entropy + top * inverse * np.float32(np.log(peaks) + np.log1p(rest / top))


@no_type_check
def _take_pairs(row, low, line, bounds, keys, copies, pairs):
    """Fill what goes to the keys of each list of a query, and which copies get most."""
    lists = len(bounds)
    for number in range(lists):
        begin, end, given = bounds[number, line], bounds[number, line + 1], np.float32(0)
        if begin == end:
            pairs[number] = given
            continue
        top = np.float32(-3e38)
        if number >= lists - copies:
            for key in range(len(row)):
                top = max(top, row[key])
        for place in range(begin, end):
            key = keys[place] - low
            entry = row[key] if 0 <= key < len(row) else np.float32(0)
            if number < lists - copies:
                given += entry
            elif entry >= top:
                given = np.float32(1)
        pairs[number] = given


@no_type_check
def _add_row(row, factor, received, diagonal):
    """Add a row to what its keys receive, as shares, and to the diagonals that it crosses."""
    for key in range(len(row)):
        received[key] += factor * row[key]
        diagonal[key] += row[key]


@no_type_check
def _sum_sizes(row):
    """Return the sums of the absolute values and of the squares, and the largest absolute value."""
    size, square, peak = np.float32(0), np.float32(0), np.float32(0)
    for key in range(len(row)):
        entry = row[key]
        size += abs(entry)
        square += entry * entry
        peak = max(peak, abs(entry))
    return size, square, peak


@no_type_check
def _sum_rows(score, first, factors, listed, arrays, step, start):
    """Fill the sums of the rows of every ``step``-th head from ``start`` on."""
    counted, factor = factors
    heads, queries, columns = score.shape[1:]
    received = np.empty(columns, np.float32)
    diagonal = np.empty(columns + queries, np.float32)
    # The first diagonal of the block is that of its last query and the key 0.
    shift = arrays.received.shape[2] - first - queries
    for number in range(start, len(score) * heads, step):
        text, head = number // heads, number % heads
        received[:] = 0
        diagonal[:] = 0
        for query in range(queries):
            row = score[text, head, query]
            end = columns
            while end > 0 and row[end - 1] == 0:  # as in most rows under a causal mask
                end -= 1
            row = row[:end]
            size, square, peak = _sum_sizes(row)
            arrays.size[text, head, query] = size
            arrays.square[text, head, query] = square
            arrays.entropy[text, head, query] = _entropy_of_sizes(row, size, peak)
            pairs, line = arrays.pairs[text, head, query], text * queries + query
            _take_pairs(row, 0, line, listed.bounds, listed.keys, listed.copies, pairs)
            if counted[text, head, query]:
                along = diagonal[queries - 1 - query :]
                _add_row(row, factor[text, head, query], received, along)
        for key in range(columns):
            arrays.received[text, head, key] = received[key]
        for place in range(columns + queries - 1):
            if 0 <= shift + place < arrays.diagonal.shape[2]:
                arrays.diagonal[text, head, shift + place] = diagonal[place]


HELPERS = (
    _times_logarithm,
    _entropy_of_sizes,
    _take_pairs,
    _add_row,
    _sum_sizes,
)
"""Functions of rows that loops call, each after those that it calls."""


@cache
def compiled_sums() -> Callable[..., Any]:
    """Return the loop over the rows of written cells."""
    return compile_loop(_sum_rows, HELPERS, finite=True)
