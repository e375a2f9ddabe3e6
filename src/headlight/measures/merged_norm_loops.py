"""Loops of merged norms over single numbers, compiled for the processor.

The squares of a row of merged norms are made while the weights of all heads are in the cache; torch
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
from headlight.tensors import Overlap, Weight

FEW = 1 << 16
"""Cells for which another thread is not worth it."""

CHUNK = 32
"""Keys that are looked at together for the end of what a query attends to."""

Packed = Float[Tensor, "batch pair key_of_text"]
"""⟨f_h(x_j), f_g(x_j)⟩ for h ≤ g, head by head; twice that where h < g, as each stands for two."""


def serves(weight: Tensor) -> bool:
    """Return whether the loops take weights like these."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the loops over the pairs of heads of tokens, and over rows of weights."""
    return compile_loop(_add_products), compile_loop(_add_squares, (_find_end,))


def inner_products(
    rows: Float[Tensor, "batch head key_of_text head_dim"], overlap: Overlap
) -> Packed:
    """Return the inner products of what all heads make of each token.

    Args:
        rows: f(x), `compressed`, in units in which squares stay within float32.
        overlap: Q Qᵀ.
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
        compiled()[0](part.numpy(), flat.numpy(), start, size, packed.numpy(), place)
        place += heads - head
    return packed


def merged(
    weight: Weight,
    packed: Packed,
    length: Float[Tensor, "batch head key_of_text"],
    threshold: float,
) -> tuple[Float[Tensor, "batch query key"], Bool[Tensor, "batch query key"]]:
    """Return ‖Σ_h α f_h‖ in the units of its arguments, and where heads cancel one another.

    Args:
        weight: α, with the keys up to the last that one of the queries sees.
        packed: of all keys.
        length: ‖f(x)‖, of all keys.
        threshold: the share of the square of Σ_h α ‖f_h‖ below which digits are lost.
    """
    weight = weight.detach().contiguous()
    shape = weight.shape[0], *weight.shape[2:]
    norms, lost = weight.new_empty(shape), torch.empty(shape, dtype=torch.bool)
    arrays = (each.numpy() for each in (weight, packed, length))
    results = norms.numpy(), lost.numpy()
    loop = partial(compiled()[1], *arrays, results, np.float32(threshold))
    run_in_threads(loop, min(torch.get_num_threads(), 1 + weight.numel() // FEW))
    return norms, lost


@no_type_check
def _add_products(part, flat, start, size, packed, place):
    """Fill the products of one head with itself and with those after it."""
    keys = packed.shape[2]
    for token in range(len(flat)):
        text, key = token // keys, token % keys
        for other in range(part.shape[1] // size):
            begin = other * size
            one, two = part[token, begin : begin + size], flat[token, start + begin :]
            total = np.float32(0)
            for number in range(size):
                total += one[number] * two[number]
            packed[text, place + other, key] = total + total if other else total


@no_type_check
def _find_end(block, query):
    """From which key on no head attends to anything, as in most rows under a causal mask."""
    end = block.shape[2]
    while end:
        begin, some = max(0, end - CHUNK), np.float32(0)
        for head in range(len(block)):
            row = block[head, query, begin:end]
            for key in range(len(row)):
                some += abs(row[key])
        if some != 0:
            break
        end = begin
    return end


@no_type_check
def _add_squares(weight, packed, length, results, threshold, step, start):
    """Fill the norms of every ``step``-th query from ``start`` on."""
    heads, queries, keys = weight.shape[1:]
    norms, lost = results
    rows = np.empty((3, keys), np.float32)
    square, parts, inner = rows[0], rows[1], rows[2]
    for at in range(start, len(weight) * queries, step):
        text, query = at // queries, at % queries
        norms[text, query] = 0
        lost[text, query] = False
        end, place = _find_end(weight[text], query), 0
        square[:end] = 0
        parts[:end] = 0
        for head in range(heads):
            alpha, pairs = weight[text, head, query], packed[text, place]
            of_head = length[text, head]
            for key in range(end):
                inner[key] = alpha[key] * pairs[key]
                parts[key] += abs(alpha[key]) * of_head[key]
            for other in range(head + 1, heads):
                beta, pairs = weight[text, other, query], packed[text, place + other - head]
                for key in range(end):
                    inner[key] += beta[key] * pairs[key]
            for key in range(end):
                square[key] += inner[key] * alpha[key]
            place += heads - head
        for key in range(end):
            norms[text, query, key] = np.sqrt(max(square[key], np.float32(0)))
            lost[text, query, key] = square[key] < threshold * parts[key] * parts[key]
