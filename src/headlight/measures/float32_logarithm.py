"""Logarithm in float32, for compiled loops over single numbers (Cephes)."""

from typing import no_type_check

import numpy as np

ROOT_HALF_BITS = np.int32(0x3F3504F3)
"""The bits of √½ as a float32."""
MANTISSA = np.int32(23)

P8, P7, P6, P5, P4, P3, P2, P1, P0 = (
    np.float32(number)
    for number in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
"""ln(1 + x) = x − x²/2 + x³ (P0 + P1 x + ...) from 1 + x = √½ to √2 (Cephes, ``logf``)."""
ONE, HALF, LN_2 = np.float32(1), np.float32(0.5), np.float32(np.log(2))


@no_type_check
def times_logarithm(number):
    """Return a number times its logarithm, in float32; 0 for 0."""
    # Octaves begin at √½, so that 1 + x is near 1, where the series converges. For 0 the logarithm
    # comes out finite, and the product is 0.
    bits = np.float32(number).view(np.int32)
    octave = np.int32(np.int32(bits - ROOT_HALF_BITS) >> MANTISSA)
    x = np.int32(bits - np.int32(octave << MANTISSA)).view(np.float32) - ONE
    rest = (((P8 * x + P7) * x + P6) * x + P5) * x + P4
    rest = (((rest * x + P3) * x + P2) * x + P1) * x + P0
    return number * (x + x * x * (x * rest - HALF) + np.float32(octave) * LN_2)
