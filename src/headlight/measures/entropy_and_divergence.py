"""Entropy, and divergence of distributions and of heads (Clark et al. 2019, Section 6).

`total_variation`, `kullback_leibler` and `jensen_shannon` compare rows with rows, and can be
differentiated; `divergence` compares all pairs of heads, and is made for many.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.errors import UsageError
from headlight.measures.loops import compile_loop
from headlight.tensors import Score, single

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
    """Return a loop that sums float32 on the CPU some five times as fast, where worth it."""
    heads, cells = ratio.shape
    if ratio.dtype != torch.float32 or ratio.device.type != "cpu":
        return None
    if heads * heads * cells < 2 * WORTH_IT:
        return None
    return partial(_in_threads, compiled())


@cache
def compiled() -> Callable[..., Any]:
    """Return the loop."""
    return compile_loop(_loop)


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
            total_sum = np.float32(0)
            for cell in range(len(share)):
                t = first[cell] + second[cell]
                bits = np.float32(t).view(np.int32)
                octave = np.int32(np.int32(bits - ROOT_HALF_BITS) >> MANTISSA)
                x = np.int32(bits - np.int32(octave << MANTISSA)).view(np.float32) - ONE
                rest = (((P8 * x + P7) * x + P6) * x + P5) * x + P4
                rest = (((rest * x + P3) * x + P2) * x + P1) * x + P0
                logarithm = x + x * x * (x * rest - HALF) + np.float32(octave) * LN_2
                total_sum += share[cell] * (t * logarithm)
            total[one, other] += total_sum


SMOOTHING = 0.001
"""The share of every row that is spread evenly over its keys, as the authors do."""

IN_CACHE, ON_GPU = 1 << 17, 1 << 25
"""Numbers in a block of pairs: what the cache of a core holds, and what keeps a GPU busy."""

TINY = 1e-30
"""Keeps logarithms finite where no head looks; what it adds is below any rounding."""

Rows = Float[Tensor, "head query key"]
"""Heads, of one layer or of several, on one text without padding."""

Real = Bool[Tensor, "*#rows #key"]
"""Mask of the entries of rows that are real, and not padding."""


def total_variation(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """½ Σ_j |p_j − q_j|: the largest difference between the probabilities of any event.

    Of two classes that is |p_1 − q_1|; the released code of Wiegreffe and Pinter (2019) has half
    of it.

    Source: Yang (2020), Section 2, after Jain and Wallace (2019).

    Args:
        p: distributions.
        q: others of the same shape.
        real: entries that count; by default all.  What stands in the others is not looked at.

    Returns:
        between 0 and 1 for each row; 0 for one without a real entry.
    """
    difference = _real(single(p), real) - _real(single(q), real)
    return (difference.abs().sum(-1) / 2).clamp_max(1)


def kullback_leibler(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """KL(p ‖ q) = Σ_j p_j (ln p_j − ln q_j).

    Where p_j is 0, the summand is 0.  Where q_j is 0 and p_j is not, the divergence is infinite;
    here q_j counts as the smallest normal number of its type (in float32 1.2e-38), so that a loss
    stays finite.  In gradients logarithms of zeros are constants, so that they are finite too.  For
    the arguments see `total_variation`.

    Returns:
        nats for each row, not negative but for rounding.
    """
    p, q = _real(single(p), real), _real(single(q), real)
    return (p * (_log(p) - _log(q))).sum(-1)


def kullback_leibler_of_logarithms(
    log_p: Float[Tensor, "*rows key"], log_q: Float[Tensor, "*rows key"]
) -> Float[Tensor, "*rows"]:
    """KL(p ‖ q) from ln p and ln q, as a log-softmax gives them, for which no number is too small.

    Returns:
        nats for each row, 0 or more; infinite where q is 0 and p is not.
    """
    p = log_p.exp()
    return torch.where(p > 0, p * (log_p - log_q), 0).sum(-1).clamp_min(0)


def jensen_shannon(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2.  For the arguments see `total_variation`.

    Source: Yang (2020), Section 2, after Jain and Wallace (2019).

    Returns:
        nats between 0 and ln 2 for each row; symmetric.
    """
    p, q = _real(single(p), real), _real(single(q), real)
    middle = _log((p + q) / 2)
    nats = (p * (_log(p) - middle) + q * (_log(q) - middle)).sum(-1) / 2
    return nats.clamp(0, math.log(2))


def _real(row: Float[Tensor, "*rows key"], real: Real | None) -> Float[Tensor, "*rows key"]:
    """Zeros where an entry is not real."""
    return row if real is None else torch.where(real, row, 0)


def _log(row: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key"]:
    """Return the logarithm; of numbers too small to be normal that of the smallest."""
    # The floor is on what goes in: a gradient that is infinite at 0 is NaN once multiplied by 0.
    tiny = torch.finfo(row.dtype).tiny
    return torch.where(row < tiny, tiny, row).log()


def distributions(scores: Rows) -> Rows:
    """Rows as distributions over keys: absolute values, divided by their sum.

    So the same can be asked of norms and of effective attention as of weights, which it leaves as
    they are.  A row of zeros says nothing, and is spread evenly.
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
    """Jensen-Shannon divergences between all pairs of heads on one text, summed over its queries.

    Σ_queries JS(p', q'), where p' = (1 − s) p + s / keys and
    JS(p, q) = H((p + q) / 2) − (H(p) + H(q)) / 2.

    Args:
        rows: distributions over keys, see `distributions`.
        smoothing: s, from 0 to below 1; the authors' is 0.001.

    Returns:
        nats, between 0 and queries × ln 2, symmetric, with zeros on the diagonal; on the CPU.  Rows
        in float32 are computed in float32: over a hundred queries the error is below 1e-5 of a
        divergence of 0.01 nats per query, and at most about 2e-7 nats per query below that.

    Raises:
        UsageError: the smoothing is out of its range.

    Source: Clark et al. (2019), Section 6, with the smoothing of the released code: natural
    logarithms, the divergence and not its root, and every position counts.
    """
    if not 0 <= smoothing < 1:
        raise UsageError(f"smoothing must be at least 0 and below 1, not {smoothing}.")
    with torch.no_grad():
        ratio, reference = _by_reference(single(rows), smoothing)
        compiled = compiled_for(ratio)
        return _differences(compiled(ratio, reference) if compiled else _sums(ratio, reference))


def _sums(
    ratio: Float[Tensor, "head cell"], reference: Float[Tensor, " cell"]
) -> Float64[Tensor, "head head"]:
    """Σ_cells g t ln t for the sums t of each pair of heads, where the second is not the first."""
    heads = len(ratio)
    room = ON_GPU if ratio.device.type == "cuda" else IN_CACHE
    width = max(1, min(CELLS, room // heads))
    scratch = ratio.new_empty(2, max(room, heads * width))
    total = torch.zeros(heads, heads, dtype=torch.float64)
    for first in range(0, len(reference), width):
        cells = slice(first, first + width)
        block = ratio[:, cells].contiguous()
        total += _of_pairs(block, reference[cells], scratch).cpu().double()
    return total


def _by_reference(
    rows: Rows, smoothing: float
) -> tuple[Float[Tensor, "head cell"], Float[Tensor, " cell"]]:
    """Factors r and g of the smoothed probabilities g r; g is twice their mean over heads.

    A divergence needs Σ s ln s, s = p + q, up to what is linear in s, and
    Σ s ln s = Σ g (s/g) ln(s/g) + Σ s ln g.  The more alike heads are, the nearer s/g is to 1 and
    the smaller its logarithm, so that small divergences are no differences of large numbers.
    """
    smooth = rows * (1 - smoothing) + smoothing / rows.shape[-1]
    reference = smooth.mean(0).mul_(2)
    ratio = smooth.div_(reference.clamp_min(TINY)).clamp_min_(TINY)
    return ratio.flatten(1), reference.flatten()


def _of_pairs(
    block: Float[Tensor, "head cell"], share: Float[Tensor, " cell"], scratch: Tensor
) -> Float[Tensor, "head head"]:
    """Return the sums of `_sums` for a block of cells.

    Many pairs at once, few enough that sums and logarithms stay in the cache: `scratch` holds both.
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
    """Σ JS = (Σ 2p ln 2p + Σ 2q ln 2q) / 4 − (Σ s ln s) / 2, from the upper triangle alone."""
    alone = total.diagonal()
    divergences = ((alone[:, None] + alone) / 4 - total / 2).clamp_min_(0).triu_(1)
    return divergences + divergences.mT


def entropy(score: Score) -> Float[Tensor, "batch head query"]:
    """−Σ_j p_j ln p_j of every row, p being the absolute values divided by their sum.

    For attention weights that is their entropy; the same question can be asked of norms and of
    effective attention.  A row of zeros (a padding query) has entropy 0.

    Returns:
        nats, between 0 and ln(keys).

    Source: Clark et al. (2019), Section 3.3, without the smoothing of the released code.
    """
    return entropy_of_sizes(single(score).abs())


def entropy_of_sizes(size: Score) -> Float[Tensor, "batch head query"]:
    """Compute the entropy of numbers that are not negative, as weights and norms are."""
    tiny = torch.finfo(size.dtype).tiny
    total = size.sum(-1, keepdim=True).clamp_min(tiny)
    largest, place = size.max(-1, keepdim=True)
    # The largest share may be next to 1: its logarithm is taken from the others.
    others = size.scatter(-1, place, 0)
    shares = others / total
    if size.device.type != "cpu":  # one kernel takes what a processor takes longer for than three
        nats: Tensor = torch.special.entr(shares).sum(-1)
        nats -= torch.special.xlog1py((largest / total)[..., 0], -shares.sum(-1))
        return nats.clamp_min_(0)
    # These have a floor, so that logarithms of zeros are finite, and take no ten times as long.
    nats = -shares.clamp_min(tiny).log_().mul_(shares).sum(-1)
    rest = others.sum(-1, keepdim=True)
    nats -= (largest / total * torch.log1p(-rest / total))[..., 0]
    return nats.clamp_min_(0)
