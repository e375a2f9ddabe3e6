"""Jensen-Shannon divergences between all pairs of heads (Clark et al. 2019, Section 6)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.errors import UsageError
from headlight.measures.compiled_loops import compile_loop
from headlight.measures.float32_logarithm import times_logarithm
from headlight.tensors import single

CELLS = 1024
"""Cells that are processed together: those of all heads stay in the cache, and sums over this many
are taken in float32."""

WORTH_IT = 1 << 24
"""Number of sums of two probabilities in a text from which on a second of compilation pays off."""

Sums = Callable[[Tensor, Tensor], Float64[Tensor, "head head"]]


def compiled_for(ratio: Tensor) -> Sums | None:
    """Return a loop some five times as fast, for float32 on the CPU; None if not worth it."""
    heads, cells = ratio.shape
    if ratio.dtype != torch.float32 or ratio.device.type != "cpu":
        return None
    if heads * heads * cells < 2 * WORTH_IT:  # each pair of heads is summed in one order only
        return None
    return partial(_run_threaded, compiled())


@cache
def compiled() -> Callable[..., Any]:
    """Return the loop."""
    return compile_loop(_loop, (times_logarithm,))


def _run_threaded(loop: Callable[..., Any], ratio: Tensor, share: Tensor) -> Tensor:
    """Use as many threads as torch; each has rows of its own, so that no bit depends on them."""
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
    """Add Σ_cells g t ln t of the heads start, start + step, ... with those from them on."""
    for head in range(start, len(block), step):
        for other in range(head, len(block)):
            first, second = block[head], block[other]
            total_sum = np.float32(0)
            for cell in range(len(share)):
                total_sum += share[cell] * times_logarithm(first[cell] + second[cell])
            total[head, other] += total_sum


SMOOTHING = 0.001
"""Share of every row that is spread evenly over its keys, as the authors do."""

IN_CACHE, ON_GPU = 1 << 17, 1 << 25
"""Numbers in a block of pairs: as many as fit into the cache of a core, or keep a GPU busy."""

TINY = 1e-30
"""Floor that keeps logarithms finite where no head attends; it is below any rounding."""

Rows = Float[Tensor, "head query key"]
"""Heads, of one layer or of several, on one text without padding."""


def distributions(scores: Rows) -> Rows:
    """Return rows as distributions over keys: absolute values, divided by their sum.

    So norms and effective attention can be compared like weights, which stay as they are.  A row of
    zeros is spread evenly.
    """
    size = single(scores).abs()
    whole = size.sum(-1, keepdim=True)
    silent = whole == 0
    if bool(silent.any()):
        size, whole = size + silent, whole + silent * size.shape[-1]
    return size / whole


def divergence(
    rows: Rows, smoothing: float = SMOOTHING
) -> Float64[Tensor, "first_head second_head"]:
    """Compute Jensen-Shannon divergences of all pairs of heads on one text, summed over queries.

    Σ_queries JS(p', q'), where p' = (1 − s) p + s / keys and
    JS(p, q) = H((p + q) / 2) − (H(p) + H(q)) / 2.

    Args:
        rows: Distributions over keys, see `distributions`.
        smoothing: Share s, from 0 to below 1; the authors' is 0.001.

    Returns:
        Nats from 0 to queries × ln 2, symmetric, with zeros on the diagonal; on the CPU.  Rows in
        float32 are computed in float32: over a hundred queries the error is below 1e-5 of a
        divergence of 0.01 nats per query, and at most about 2e-7 nats per query below that.

    Raises:
        UsageError: The smoothing is out of its range.

    Source: Clark et al. (2019), Section 6, with the smoothing of the released code: natural
    logarithms, the divergence and not its root, and every position counts.
    """
    if not 0 <= smoothing < 1:
        raise UsageError(f"smoothing must be at least 0 and below 1, not {smoothing}.")
    with torch.no_grad():
        ratio, reference = _divide_by_reference(single(rows), smoothing)
        compiled = compiled_for(ratio)
        return _differences(compiled(ratio, reference) if compiled else _sums(ratio, reference))


def _sums(
    ratio: Float[Tensor, "head cell"], reference: Float[Tensor, " cell"]
) -> Float64[Tensor, "head head"]:
    """Return Σ_cells g t ln t for the sums t of each pair of heads; the lower triangle is 0."""
    heads = len(ratio)
    room = ON_GPU if ratio.device.type == "cuda" else IN_CACHE
    width = max(1, min(CELLS, room // heads))
    scratch = ratio.new_empty(2, max(room, heads * width))
    total = torch.zeros(heads, heads, dtype=torch.float64)
    for first in range(0, len(reference), width):
        cells = slice(first, first + width)
        block = ratio[:, cells].contiguous()
        total += _sum_pairs(block, reference[cells], scratch).cpu().double()
    return total


def _divide_by_reference(
    rows: Rows, smoothing: float
) -> tuple[Float[Tensor, "head cell"], Float[Tensor, " cell"]]:
    """Return factors r and g of the smoothed probabilities g r; g is twice their mean over heads.

    A divergence needs Σ s ln s, s = p + q, up to what is linear in s, and
    Σ s ln s = Σ g (s/g) ln(s/g) + Σ s ln g.  The more alike heads are, the nearer s/g is to 1 and
    the smaller its logarithm, so that small divergences are no differences of large numbers.
    """
    smooth = rows * (1 - smoothing) + smoothing / rows.shape[-1]
    reference = smooth.mean(0).mul_(2)
    ratio = smooth.div_(reference.clamp_min(TINY)).clamp_min_(TINY)
    return ratio.flatten(1), reference.flatten()


def _sum_pairs(
    block: Float[Tensor, "head cell"], share: Float[Tensor, " cell"], scratch: Tensor
) -> Float[Tensor, "head head"]:
    """Return the sums of `_sums` for a block of cells.

    It takes as many pairs at once as fit into `scratch`, which holds sums and logarithms.
    """
    heads, width = block.shape
    pair_sums = block.new_zeros(heads, heads)
    room = scratch.shape[1]
    first = 0
    while first < heads:
        others = block[first:]
        some = max(1, min(len(others), room // others.numel()))
        shape = (some, *others.shape)
        sums, logs = (half[: some * others.numel()].view(shape) for half in scratch)
        torch.add(others[:some, None], others, out=sums)
        torch.log(sums, out=logs).mul_(sums)
        pair_sums[first : first + some, first:] = (logs.view(-1, width) @ share).view(shape[:2])
        first += some
    return pair_sums


def _differences(total: Float64[Tensor, "head head"]) -> Float64[Tensor, "head head"]:
    # Σ JS = (Σ 2p ln 2p + Σ 2q ln 2q) / 4 - (Σ s ln s) / 2, by the upper triangle alone.
    alone = total.diagonal()
    divergences = ((alone[:, None] + alone) / 4 - total / 2).clamp_min_(0).triu_(1)
    return divergences + divergences.mT
