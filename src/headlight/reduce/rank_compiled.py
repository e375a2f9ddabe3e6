"""The sums over pairs in machine code, which numba makes (``pip install 'headlight[speed]'``)."""

from collections.abc import Callable
from functools import cache
from typing import Any, no_type_check

import numpy as np

INFINITY = 0x7F800000
"""Its bits, as a float32; those above are NaN."""
NONE, SEVERAL = -1, -2
"""What `only` says of a code that no number had, and of one that several numbers had."""
COUNT, PLACE, SHARED, PRODUCT = range(4)
"""The sums of a cell: n, Σt, Σs and Σts, t and s being the places of x and y."""


@cache
def compiled() -> Callable[..., Any] | None:
    """What does as `rank_pairs.add_chunk` does, some three times as fast; None without numba.

    It is compiled when first called, which takes about a second.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    loop: Callable[..., Any] = njit(_loop)
    return loop


@no_type_check  # what wraps it to check types cannot be compiled
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
