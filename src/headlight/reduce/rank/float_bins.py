"""Numbers of zero and above, as whole-number codes that keep their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Int32

MANTISSA = 23
"""Bits of the fraction of a float32, which tell places in an octave."""

DENORMAL_BITS = 3
"""Numbers too small for a normal float32 are evenly spread over 2^3 bins."""

Codes = Int32[np.ndarray, "..."]


@dataclass(frozen=True)
class FloatBins:
    """Bins of float32, cut out of its bits: this many to the octave, and places within each bin.

    The bits of a number >= 0, read as a whole number, keep the order of numbers; what is left after
    a shift to the right is a bin whose width grows with the number.  Several such codes, each with
    a shift of its own, are joined where they meet.  Zero has a bin of its own, the first.  Every
    number from the smallest denormal to infinity has a code.

    Args:
        widths: Pairs (start, bits): from the number start on, there are 2^bits bins to the octave;
            a negative number of bits means one bin to several octaves.  The first start is 0, and
            the others are ends of bins; bits rise from pair to pair; in the last they may fall to
            those of the first, or below.
        place_bits: Every bin has 2^place_bits places, this many codes.
    """

    widths: tuple[tuple[float | int, int], ...]
    place_bits: int

    @cached_property
    def places(self) -> int:
        """Codes to the bin."""
        return 1 << self.place_bits

    @cached_property
    def bins(self) -> int:
        """How many bins there are, that of zero included."""
        highest = self.codes(np.array([np.inf], dtype=np.float32))[0]
        return int(highest >> self.place_bits) + 1

    def codes(self, values: Float32[np.ndarray, "..."]) -> Codes:
        """The code of each number: its bin, times ``places``, plus its place in the bin.

        Args:
            values: Zero and above; the codes of others, of -0.0 too, mean nothing.
        """
        bits = values.view(np.int32)
        if not bits.size:
            return bits.copy()
        least, most = int(bits.min()), int(bits.max())
        first, last = self._starts.searchsorted([least, most], side="right").tolist()
        code = self._joined(bits, first, last)
        code += self.places << DENORMAL_BITS
        if least < 1 << MANTISSA:
            code += self._below_normal(bits)
        return code

    def _joined(self, bits: Codes, first: int, last: int) -> Codes:
        """The codes by the pieces from `first` to `last`; there are no numbers in the others."""
        pieces = self._pieces[first : last + 1]
        joined = bits >> pieces[0][0]
        joined += pieces[0][1]
        piece = np.empty_like(bits)
        for (before, _), (shift, offset) in pairwise(pieces):
            np.right_shift(bits, shift, out=piece)
            piece += offset
            join = np.maximum if shift < before else np.minimum
            join(joined, piece, out=joined)
        return joined

    def _below_normal(self, bits: Codes) -> Codes:
        """What the codes of numbers too small for a normal float32 lack, which is negative."""
        shift = MANTISSA - DENORMAL_BITS - self.place_bits
        code = bits + ((self.places << shift) - 1)  # nothing but zero is in the first bin
        code >>= shift
        code -= self.places << DENORMAL_BITS
        np.minimum(code, 0, out=code)
        return code

    @cached_property
    def _starts(self) -> Codes:
        """The bits from which on the second, third, ... piece holds."""
        starts = np.array([start for start, _ in self.widths[1:]], dtype=np.float32)
        return starts.view(np.int32)

    @cached_property
    def _pieces(self) -> Sequence[tuple[int, int]]:
        """For each pair of ``widths`` how far to shift, and what to add so that codes meet."""
        shift, offset = MANTISSA - self.widths[0][1] - self.place_bits, 0
        pieces = [(shift, offset)]
        for number, bits in self.widths[1:]:
            start = int(np.float32(number).view(np.int32))
            meets = (start >> shift) + offset
            shift = MANTISSA - bits - self.place_bits
            offset = meets - (start >> shift)
            pieces.append((shift, offset))
        return pieces
