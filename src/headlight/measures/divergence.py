"""How differently heads attend: Jensen-Shannon divergences (Clark et al. 2019, Section 6)."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.errors import UsageError
from headlight.measures.precision import single

SMOOTHING = 0.001
"""The share of every row that is spread evenly over its keys, as the authors do."""

CELLS = 1024
"""Cells (query, key) that are looked at together; sums over so many are taken in float32."""

IN_CACHE, ON_GPU = 1 << 18, 1 << 25
"""Numbers in a block of pairs: what the cache of a core holds, and what keeps a GPU busy."""

TINY = 1e-30
"""Keeps logarithms finite where no head looks; what it adds is below any rounding."""

Rows = Float[Tensor, "head query key"]
"""Heads, of one layer or of several, on one text without padding."""


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
        divergence of 0.01 nats per query, and at most about 5e-8 nats per query below that.

    Raises:
        UsageError: the smoothing is out of its range.

    Source: Clark et al. (2019), Section 6, with the smoothing of the released code: natural
    logarithms, the divergence and not its root, and every position counts.
    """
    if not 0 <= smoothing < 1:
        raise UsageError(f"smoothing must be at least 0 and below 1, not {smoothing}.")
    heads = rows.shape[0]
    ratio, reference = _by_reference(single(rows), smoothing)
    room = ON_GPU if rows.device.type == "cuda" else IN_CACHE
    width = max(1, min(CELLS, room // heads))
    scratch = ratio.new_empty(2, max(room, heads * width))
    total = torch.zeros(heads, heads, dtype=torch.float64)
    with torch.no_grad():
        for first in range(0, len(reference), width):
            cells = slice(first, first + width)
            block = ratio[:, cells].contiguous()
            total += _of_pairs(block, reference[cells], scratch).cpu().double()
    return _differences(total)


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
    """Σ_cells g t ln t for the sums t of each pair of heads, where the second is not the first.

    Many pairs at once, few enough that sums and logarithms stay in the cache: `scratch` holds both.
    """
    heads, width = block.shape
    found = block.new_zeros(heads, heads)
    room = scratch.shape[1]
    first = 0
    while first < heads:
        others = block[first:]
        some = max(1, min(len(others), room // others.numel()))
        shape = (some, *others.shape)
        sums, logs = (half[: some * others.numel()].view(shape) for half in scratch)
        torch.add(others[:some, None], others, out=sums)
        torch.log(sums, out=logs).mul_(sums)
        found[first : first + some, first:] = (logs.view(-1, width) @ share).view(shape[:2])
        first += some
    return found


def _differences(total: Float64[Tensor, "head head"]) -> Float64[Tensor, "head head"]:
    """Σ JS = (Σ 2p ln 2p + Σ 2q ln 2q) / 4 − (Σ s ln s) / 2, from the upper triangle alone."""
    alone = total.diagonal()
    found = ((alone[:, None] + alone) / 4 - total / 2).clamp_min_(0).triu_(1)
    return found + found.mT
