"""The same sums over pairs as by numpy, in machine code that numba makes (`headlight[speed]`)."""

from collections.abc import Callable
from functools import cache
from typing import Any, no_type_check

import numpy as np

from headlight.reduce.float_bins import DENORMAL_BITS, MANTISSA, FloatBins
from headlight.reduce.rank_pairs import (
    COUNT,
    NONE,
    PLACE,
    PRODUCT,
    SEVERAL,
    SHARED,
    Columns,
    Counts,
    Only,
    PerColumn,
    Sums,
    Where,
)

INFINITY = 0x7F800000
"""Its bits, as a float32; those above are NaN."""
UNSIGNED = 0x7FFFFFFF
"""All bits of a float32 but its sign, which only -0.0 has here."""


@cache
def compiled() -> Callable[[Columns, Where, FloatBins, Sums, Counts, Only], PerColumn] | None:
    """What does as `rank_pairs.add_pairs` does, some five times as fast; None without numba.

    It is compiled when first called, which takes about a second.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    loop: Any = njit(_loop)

    def add(
        first: Columns, where: Where, bins: FloatBins, sums: Sums, counts: Counts, only: Only
    ) -> PerColumn:
        bits = first.view(np.int32)
        present: PerColumn = loop(bits, where, bins.table, bins.place_bits, sums, counts, only)
        return present

    return add


@no_type_check  # what wraps it to check types cannot be compiled
def _loop(bits, where, pieces, place_bits, sums, counts, only):
    start, shift, offset = pieces
    highest = 1 << place_bits << DENORMAL_BITS
    denormal_shift = MANTISSA - DENORMAL_BITS - place_bits
    below = (1 << place_bits << denormal_shift) - 1  # nothing but zero is in the first bin
    present = np.zeros(where.shape[1], dtype=np.int64)
    piece = 0
    for seen in range(where.shape[1]):
        column, row, s = where[0, seen], where[1, seen], where[2, seen]
        for signed in bits[column]:
            number = signed & UNSIGNED
            if number > INFINITY:
                continue
            while number < start[piece]:
                piece -= 1
            while number >= start[piece + 1]:
                piece += 1
            code = (number >> shift[piece]) + offset[piece]
            code += min((number + below) >> denormal_shift, highest)
            cell, t = code >> place_bits, code & ((1 << place_bits) - 1)
            sums[row, COUNT, cell] += 1
            sums[row, PLACE, cell] += t
            sums[row, SHARED, cell] += s
            sums[row, PRODUCT, cell] += s * t
            counts[code] += 1
            if only[code] not in (number, SEVERAL):
                only[code] = number if only[code] == NONE else SEVERAL
            present[seen] += 1
    return present
