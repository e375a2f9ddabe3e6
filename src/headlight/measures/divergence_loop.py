"""The inner loop of divergences between all pairs of heads, compiled where there is numba."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.reduce.compiling import compile_loop

CELLS = 1024
"""Cells that are looked at together: of all heads they stay in the cache, and sums over this many
are taken in float32."""

WORTH_IT = 1 << 24
"""Sums of two probabilities in a text from which on a second or two of compiling is worth it."""

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

Sums = Callable[[Tensor, Tensor], Float64[Tensor, "head head"]]


def compiled_for(ratio: Tensor) -> Sums | None:
    """Return a loop that sums float32 on the CPU some five times as fast, where worth it.

    Args:
        ratio: [head, cell], of the text.
    """
    heads, cells = ratio.shape
    if ratio.dtype != torch.float32 or ratio.device.type != "cpu":
        return None
    if heads * heads * cells < 2 * WORTH_IT:
        return None
    loop = compiled()
    return partial(_in_threads, loop) if loop else None


@cache
def compiled() -> Callable[..., Any] | None:
    """The loop; None without numba."""
    return compile_loop(_loop, nogil=True, fastmath={"reassoc", "contract", "nsz"})


def _in_threads(loop: Callable[..., Any], ratio: Tensor, share: Tensor) -> Tensor:
    """As many threads as torch has; each has rows of its own, so that no bit depends on them."""
    heads = len(ratio)
    total = np.zeros((heads, heads))
    threads = min(torch.get_num_threads(), heads)
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, ratio.shape[1], CELLS):
            cells = slice(first, first + CELLS)
            block, part = ratio[:, cells].contiguous().numpy(), share[cells].numpy()
            list(pool.map(partial(loop, block, part, total, threads), range(threads)))
    return torch.from_numpy(total)


@no_type_check
def _loop(block, share, total, step, start):
    """Adds Σ_cells g t ln t of the heads start, start + step, ... with those from them on."""
    for one in range(start, len(block), step):
        for other in range(one, len(block)):
            first, second = block[one], block[other]
            found = np.float32(0)
            for cell in range(len(share)):
                t = first[cell] + second[cell]
                bits = np.float32(t).view(np.int32)
                octave = np.int32(np.int32(bits - ROOT_HALF_BITS) >> MANTISSA)
                x = np.int32(bits - np.int32(octave << MANTISSA)).view(np.float32) - ONE
                rest = (((P8 * x + P7) * x + P6) * x + P5) * x + P4
                rest = (((rest * x + P3) * x + P2) * x + P1) * x + P0
                logarithm = x + x * x * (x * rest - HALF) + np.float32(octave) * LN_2
                found += share[cell] * (t * logarithm)
            total[one, other] += found
