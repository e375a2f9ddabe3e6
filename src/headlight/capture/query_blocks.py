"""Attention for some queries at a time, so that memory never holds all weights of a layer.

A block of queries goes through the model's own eager function with the keys that any of them can
see: under a causal mask those up to the end of the block, which is half of all work.  Whether a
function can be called so is tried when the model is traced.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headlight.capture.attention_masks import mask_of, mask_rows, seen_in, with_mask

CELLS = {"cpu": 1 << 22}
MORE_CELLS = 1 << 26
"""Number of attention weights of a block, by device; a text with fewer is a single block."""

WIDTHS = 16
"""Number of different widths of blocks, in keys."""

GRAIN = 16
"""Number of queries of which a block that is chosen has a multiple."""

AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]

_FAILURES = (RuntimeError, ValueError, IndexError, TypeError)
"""Exceptions of an eager function that cannot work with a block of queries."""


class Block(NamedTuple):
    """Call of an attention function for some queries."""

    first: int
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def block_size(size: int | None, heads: int, query: Tensor, key: Tensor) -> int | None:
    """Return the number of queries in a block; None for all at once.

    Args:
        size: Number requested; 0 for all; None chooses by the number of weights.
        heads: Number of heads of the layer.
        query: Queries, ``batch head query head_dim``.
        key: Keys, ``batch kv_head key head_dim``.
    """
    batch, _, queries, _ = query.shape
    row = batch * heads * key.shape[2]
    if size is None:
        cells = CELLS.get(query.device.type, MORE_CELLS)
        size = 0 if row * queries <= cells else max(1, cells // row // GRAIN) * GRAIN
    return size if 0 < size < queries else None


def blocks(size: int, arguments: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Block]:
    """Yield the calls for blocks of `size` queries, each with the keys that any of them can see."""
    queries, keys = arguments[0].shape[2], arguments[1].shape[2]
    mask = mask_of(arguments, options)
    for first in range(0, queries, size):
        end = min(first + size, queries)
        rows, last = None, keys
        if mask is not None:
            rows = mask_rows(mask, first, end)[..., :keys]
            columns = seen_in(rows).flatten(0, -2).any(0).nonzero()
            last = _round_up(int(columns[-1]) + 1 if len(columns) else keys, keys)
            rows = rows[..., :last]
        query, key, value = arguments[:3]
        cut = (query[:, :, first:end], key[:, :, :last], value[:, :, :last], *arguments[3:])
        other = {
            name: option[..., first:end, :last] if _has_pairs(option, queries, keys) else option
            for name, option in options.items()
        }
        yield Block(first, *with_mask(cut, other, rows))


def _round_up(last: int, keys: int) -> int:
    # Blocks of few different sizes can take each other's memory.
    step = max(1, keys // WIDTHS)
    return min(-(-last // step) * step, keys)


def can_be_blocked(
    function: AttentionFunction,
    module: nn.Module,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    wanted: tuple[Tensor, Tensor],
) -> bool:
    """Return whether a function gives the same for blocks of queries as for all at once.

    Args:
        function: Attention function.
        module: Module that calls it.
        arguments: Positional arguments with which the model calls it.
        options: Keyword arguments with which the model calls it.
        wanted: Context and weights of all queries at once.
    """
    context, weight = wanted
    queries, keys = weight.shape[2:]
    parts = []
    try:
        for block in blocks(max(1, queries // 2), arguments, options):
            part, rows = function(module, *block.arguments, **block.options)
            assert rows is not None  # noqa: S101 - of all queries it has returned some
            parts.append((part, nn.functional.pad(rows, (0, keys - rows.shape[3]))))
        joined = torch.cat([part for part, _ in parts], 1), torch.cat([row for _, row in parts], 2)
    except _FAILURES:
        return False
    real = _seeing(mask_of(arguments, options), weight)
    return _alike(joined[0], context, real) and _alike(
        joined[1].transpose(1, 2), weight.transpose(1, 2), real
    )


def _seeing(mask: Tensor | None, weight: Tensor) -> Tensor:
    """Return the mask of queries that see any key; others are not compared."""
    real = weight.new_ones(weight.shape[0], weight.shape[2], dtype=torch.bool)
    if mask is None:
        return real
    some = seen_in(mask_rows(mask, 0, weight.shape[2])).any(-1)[:, 0]
    return real & some


def _alike(output: Tensor, wanted: Tensor, real: Tensor) -> bool:
    """Return whether rows are equal up to the order of sums; other rows differ by far more."""
    tolerance = torch.finfo(wanted.dtype).eps * 100
    return output.shape == wanted.shape and torch.allclose(
        output[real], wanted[real], rtol=tolerance, atol=tolerance
    )


def _has_pairs(option: Any, queries: int, keys: int) -> bool:
    # As a bias of positions, which has to be cut like the mask.
    return isinstance(option, Tensor) and option.ndim >= 3 and option.shape[-2:] == (queries, keys)
