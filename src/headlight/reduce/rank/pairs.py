"""Sums over pairs (x, y) where whole columns share the y."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float32, Int32, Int64

from headlight.reduce.base import Array
from headlight.reduce.compiling import compile_loop
from headlight.reduce.rank.float_bins import Codes, FloatBins

INFINITY = 0x7F800000
"""Its bits, as a float32; those above are NaN."""
NONE, SEVERAL = -1, -2
"""What `only` says of a code that no number had, and of one that several numbers had."""
COUNT, PLACE, SHARED, PRODUCT = range(4)
"""The sums of a cell: n, Σt, Σs and Σts, t and s being the places of x and y."""
CHUNK_BITS = 15
CHUNK = 1 << CHUNK_BITS
"""Pairs that are looked at together: what belongs to them stays in the cache."""
SHARED_BITS = 8
"""Of places of y in a row.  Twice this, twice `CHUNK_BITS` and the bits of the places of x are to
be 53 at most."""

Columns = Float32[np.ndarray, "column pair"]
PerColumn = Int64[np.ndarray, " seen"]
Where = Int64[np.ndarray, "what=3 seen"]
Sums = Int64[np.ndarray, "row sum=4 bin"]
Counts = Int64[np.ndarray, " code"]
Only = Int32[np.ndarray, " code"]


def add_pairs(
    first: Columns, where: Where, bins: FloatBins, sums: Sums, counts: Counts, only: Only
) -> PerColumn:
    """Add the pairs of columns to sums, and say how many pairs each column has.

    Args:
        first: The x, >= 0, of all columns; NaN where a pair is missing.
        where: Which columns, the row of ``sums`` that each belongs to, rising, and the place of its
            y there.
        bins: Of x.
        sums: n, Σt, Σs and Σts of every cell; is added to.
        counts: How often each code of x was seen; is added to.
        only: The bits of the number that had each code, `NONE` or `SEVERAL`; is kept up.
    """
    add = compiled() or add_chunk
    present = np.zeros(where.shape[1], dtype=np.int64)
    for some, pairs in _chunks(where.shape[1], first.shape[1]):
        values = first[where[0, some], pairs]
        values += np.float32(0)  # turns -0.0 into 0.0
        codes = bins.codes(values)
        present[some] += add(codes, values, where[1:, some], bins.place_bits, sums, counts, only)
    return present


def add_chunk(
    codes: Codes,
    values: Columns,
    where: Int64[np.ndarray, "what=2 column"],
    place_bits: int,
    sums: Sums,
    counts: Counts,
    only: Only,
) -> Int64[np.ndarray, " column"]:
    """Add at most `CHUNK` pairs, and say how many each column has; see `add_pairs`."""
    rows, places = where[:, :, None]
    present = np.full(len(values), values.shape[1])
    if np.isnan(values.min()):
        there = ~np.isnan(values)
        present = np.count_nonzero(there, axis=1)
        rows, places = np.repeat(rows, present), np.repeat(places, present)
        chosen = np.flatnonzero(there)
        codes, values = codes.ravel().take(chosen), values.ravel().take(chosen)
    if codes.size:
        least, most = rows.min(), rows.max()
        _add_sums(codes, place_bits, rows - least, places, sums[least : most + 1])
        flat = codes.ravel().astype(np.int64)
        counts += np.bincount(flat, minlength=len(counts))
        note(only, flat, values.view(np.int32).ravel())
    return present


def note(only: Only, codes: Array, bits: Codes) -> None:
    """Keep, for every code, the number that had it, or that there were several."""
    known = only.take(codes)
    news = np.flatnonzero((known != bits) & (known != SEVERAL))
    if not len(news):
        return
    codes, bits = codes[news], bits[news]
    only[codes] = bits  # of several numbers with one code, one
    several = np.flatnonzero((only.take(codes) != bits) | (known.take(news) != NONE))
    only[codes.take(several)] = SEVERAL


def joined(one: Array, two: Array) -> Array:
    """What `only` says of the numbers of both."""
    both = np.where(one == NONE, two, one)
    np.copyto(both, SEVERAL, where=(one != two) & (one != NONE) & (two != NONE))
    return both


def _add_sums(codes: Codes, place_bits: int, rows: Array, places: Array, sums: Sums) -> None:
    """The four sums of every cell, from two: a float64 has room for two whole numbers."""
    bins = sums.shape[2]
    room = CHUNK_BITS + place_bits + SHARED_BITS  # bits of Σts
    cell = ((codes >> place_bits) + rows * bins).ravel()
    weights = np.add(codes & ((1 << place_bits) - 1), float(1 << room))
    plain = np.bincount(cell, weights.ravel(), len(sums) * bins)
    weights *= places
    shared = np.bincount(cell, weights.ravel(), len(sums) * bins)
    for high, low, packed in ((COUNT, PLACE, plain), (SHARED, PRODUCT, shared)):
        whole = packed.astype(np.int64).reshape(sums[:, 0].shape)
        sums[:, high] += whole >> room
        sums[:, low] += whole & ((1 << room) - 1)


def _chunks(columns: int, pairs: int) -> Iterator[tuple[slice, slice]]:
    """All columns in parts of at most `CHUNK` pairs; columns only where they are too long."""
    width = max(1, min(pairs, CHUNK))
    height = max(1, CHUNK // width)
    for start in range(0, columns, height):
        for left in range(0, pairs, width):
            yield slice(start, start + height), slice(left, left + width)


@cache
def compiled() -> Callable[..., Any] | None:
    """What does as `add_chunk` does, some three times as fast; None without numba."""
    return compile_loop(_loop)


@no_type_check
def _loop(codes, values, where, place_bits, sums, counts, only):
    numbers = values.view(np.int32)
    present = np.zeros(len(codes), dtype=np.int64)
    for column in range(len(codes)):
        row, s = where[:, column]
        cells, there = sums[row], 0
        for pair in range(codes.shape[1]):
            code, number = codes[column, pair], numbers[column, pair]
            if number > INFINITY or number < 0:
                continue
            cell, t = code >> place_bits, code & ((1 << place_bits) - 1)
            cells[COUNT, cell] += 1
            cells[PLACE, cell] += t
            cells[SHARED, cell] += s
            cells[PRODUCT, cell] += s * t
            counts[code] += 1
            if only[code] != number and only[code] != SEVERAL:
                only[code] = number if only[code] == NONE else SEVERAL
            there += 1
        present[column] = there
    return present
