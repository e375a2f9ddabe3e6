"""Sums over heads whose weights depend on both words, without a tensor of weights for each pair."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from headlight.studies.parser_probes.hidden_layer import ELSEWHERE
from headlight.studies.parser_probes.weighted_loops import compiled_for

Maps = Float[Tensor, "sentence query key head"]
OfPositions = Float[Tensor, "sentence position direction=2 head"]
Sums = Float[Tensor, "direction=2 sentence query key"]

AT_ONCE = 1 << 18
"""Numbers of the maps looked at together on a CPU: a megabyte, at least those of one sentence."""


def weighted_maps(maps: Maps, of_query: OfPositions, of_key: OfPositions) -> Sums:
    """Σ_k α^k_xy (q^k_x + r^k_y), for both directions.

    As products of matrices these would be very many and very small ones.

    Args:
        maps: α; nothing is derived by them.
        of_query: q.
        of_key: r.
    """
    found: Sums = _WeightedMaps.apply(maps, of_query, of_key)  # type: ignore[no-untyped-call]
    return found


class _WeightedMaps(torch.autograd.Function):
    """In one compiled loop where that can be, else element by element in memory used again."""

    @staticmethod
    def forward(ctx: Any, maps: Maps, of_query: OfPositions, of_key: OfPositions) -> Sums:
        ctx.save_for_backward(maps, of_query, of_key)
        sums = maps.new_empty(2, *maps.shape[:3])
        loops = compiled_for(maps)
        if loops:
            loops.add_up(maps, of_query, of_key, sums)
        else:
            _add_up(maps, of_query, of_key, sums)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_sums: Sums) -> tuple[Tensor | None, ...]:
        maps, *weights = ctx.saved_tensors
        of_query, of_key = (
            torch.empty_like(each, memory_format=torch.contiguous_format) for each in weights
        )
        loops = compiled_for(maps)
        if loops:
            loops.derive(maps, of_sums, of_query, of_key)
        else:
            _derive(maps, of_sums, of_query, of_key)
        return None, of_query, of_key


def _add_up(maps: Maps, of_query: OfPositions, of_key: OfPositions, sums: Sums) -> None:
    ones = maps.new_ones(maps.shape[3])
    for some, room in _blocks(maps):
        for direction in range(2):
            query, key = (each[some, :, direction] for each in (of_query, of_key))
            torch.add(query[:, :, None], key[:, None], out=room).mul_(maps[some])
            # A product with ones is several times as fast as a sum over the last axis.
            torch.mv(room.flatten(0, 2), ones, out=sums[direction, some].view(-1))


def _derive(maps: Maps, of_sums: Sums, of_query: OfPositions, of_key: OfPositions) -> None:
    for some, room in _blocks(maps):
        for direction in range(2):
            torch.mul(maps[some], of_sums[direction, some, ..., None], out=room)
            torch.sum(room, 2, out=of_query[some, :, direction])
            torch.sum(room, 1, out=of_key[some, :, direction])


def _blocks(maps: Maps) -> Iterator[tuple[slice, Maps]]:
    """A few sentences at a time, and room for numbers of as many cells."""
    sentences, cells = len(maps), max(1, maps[0].numel())
    largest = AT_ONCE if maps.device.type == "cpu" else ELSEWHERE
    step = max(1, largest // cells)
    room = maps.new_empty(min(step, sentences), *maps.shape[1:])
    for first in range(0, sentences, step):
        some = slice(first, min(first + step, sentences))
        yield some, room[: some.stop - first]
