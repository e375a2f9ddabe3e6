"""Loops of merged norms over single numbers, compiled for the processor.

The squares of a row of merged norms are computed while the weights of all heads are cached; torch
would write the row of every pair of heads to memory and read it again.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.measures.compiled_loops import compile_loop, run_in_threads
from headlight.measures.row_loops import compiled_merging
from headlight.tensors import Overlap, Weight

FEW = 1 << 16
"""Number of cells for which another thread does not pay off."""

Packed = Float[Tensor, "batch pair key_of_text"]
"""⟨f_h(x_j), f_g(x_j)⟩ for h ≤ g, head by head; twice that where h < g, as each stands for two."""


def serves(weight: Tensor) -> bool:
    """Return whether the loops take weights like these."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32


@cache
def compiled() -> Callable[..., Any]:
    """Return the loop over the pairs of heads of tokens."""
    return compile_loop(_add_products)


def inner_products(
    rows: Float[Tensor, "batch head key_of_text head_dim"], overlap: Overlap
) -> Packed:
    """Return the inner products of the vectors of all heads for each token.

    Args:
        rows: Vectors f(x), `compressed`, in units in which squares stay within float32.
        overlap: Overlap Q Qᵀ.
    """
    batch, heads, keys, size = rows.shape
    flat = rows.transpose(1, 2).reshape(batch * keys, heads * size).contiguous()
    packed = flat.new_empty(batch, heads * (heads + 1) // 2, keys)
    room = flat.new_empty(flat.numel())
    place = 0
    for head in range(heads):
        start = head * size
        rest = flat.shape[1] - start
        part = room[: len(flat) * rest].view(len(flat), rest)
        torch.mm(flat[:, start : start + size], overlap[start : start + size, start:], out=part)
        compiled()(part.numpy(), flat.numpy(), start, size, packed.numpy(), place)
        place += heads - head
    return packed


def merged(
    weight: Weight,
    packed: Packed,
    length: Float[Tensor, "batch head key_of_text"],
    unit: Float[Tensor, "batch key_of_text"],
    threshold: float,
) -> tuple[Float[Tensor, "batch query key"], Bool[Tensor, "batch query key"]]:
    """Return ‖Σ_h α f_h‖, and where heads cancel one another.

    Args:
        weight: Weights α, with the keys up to the last that one of the queries sees.
        packed: Products of all keys, in squares of their units.
        length: Lengths ‖f(x)‖ of all keys, in their units.
        unit: Unit of each key.
        threshold: Share of the square of Σ_h α ‖f_h‖ below which digits are lost.
    """
    weight = weight.detach().contiguous()
    shape = weight.shape[0], *weight.shape[2:]
    norms, lost = weight.new_empty(shape), torch.empty(shape, dtype=torch.uint8)
    together = tuple(tensor.contiguous().numpy() for tensor in (packed, length, unit))
    results = norms.numpy(), lost.numpy()
    loop = partial(compiled_merging(), weight.numpy(), together, results, np.float32(threshold))
    run_in_threads(loop, min(torch.get_num_threads(), 1 + weight.numel() // FEW))
    return norms, lost > 0


@no_type_check
def _add_products(part, flat, start, size, packed, place):
    """Fill the products of one head with itself and with those after it."""
    keys = packed.shape[2]
    for token in range(len(flat)):
        text, key = token // keys, token % keys
        for other in range(part.shape[1] // size):
            begin = other * size
            left, right = part[token, begin : begin + size], flat[token, start + begin :]
            total = np.float32(0)
            for number in range(size):
                total += left[number] * right[number]
            packed[text, place + other, key] = total + total if other else total
