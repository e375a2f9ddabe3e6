"""Sums over heads and a hidden layer over all pairs of words, without a tensor of all pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from headlight.reduce.compiling import compile_loop

Features = Float[Tensor, "sentence dependent candidate feature"]
OfDependents = Float[Tensor, "sentence dependent hidden"]
OfCandidates = Float[Tensor, "sentence candidate hidden"]
OfFeatures = Float[Tensor, "feature hidden"]
Output = Float[Tensor, " hidden"]
Scores = Float[Tensor, "sentence dependent candidate"]
Hidden = Float[Tensor, "pair hidden"]

IN_CACHE = 1 << 17
"""Hidden numbers at a time on a CPU: half a megabyte, at least those of one sentence."""
ELSEWHERE = 1 << 26
"""As many on other devices, where what counts is how few calls there are."""


def pair_scores(
    features: Features,
    weight: OfFeatures,
    dependent: OfDependents,
    candidate: OfCandidates,
    out: Output,
) -> Scores:
    """Σ_h out_h tanh(features_ij · weight_h + dependent_ih + candidate_jh).

    As tanh x = 2 σ(2x) - 1, whose exponential is several times as quick as that of tanh.

    Args:
        features: of each pair; nothing is derived by them.
        weight: of the features.
        dependent: what each word adds as dependent.
        candidate: what each candidate adds.
        out: of the hidden layer.
    """
    found: Scores = _SigmoidScores.apply(  # type: ignore[no-untyped-call]
        features, 2 * weight, 2 * dependent, 2 * candidate, 2 * out
    )
    return found - out.sum()


class _SigmoidScores(torch.autograd.Function):
    """Σ_h out_h σ(features_ij · weight_h + dependent_ih + candidate_jh), by few sentences.

    The way back recomputes the hidden layer, which takes less time than to fetch what was kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Features,
        weight: OfFeatures,
        dependent: OfDependents,
        candidate: OfCandidates,
        out: Output,
    ) -> Scores:
        ctx.save_for_backward(features, weight, dependent, candidate, out)
        scores = features.new_empty(features.shape[:3])
        for some, layer, _ in _layers(features, weight, dependent, candidate):
            torch.mv(layer, out, out=scores[some].view(-1))
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_scores: Scores) -> tuple[Tensor | None, ...]:
        features, weight, dependent, candidate, out = ctx.saved_tensors
        of_weight, of_dependent, of_candidate, of_out = (
            torch.zeros_like(each) for each in (weight, dependent, candidate, out)
        )
        for some, layer, inner in _layers(features, weight, dependent, candidate):
            given = of_scores[some].reshape(-1)
            of_out.addmv_(layer.T, given)
            torch.outer(given, out, out=inner)
            torch.ops.aten.sigmoid_backward.grad_input(inner, layer, grad_input=inner)
            of_weight.addmm_(features[some].flatten(0, 2).T, inner)
            pairs = inner.view(*features[some].shape[:3], -1)
            torch.sum(pairs, 2, out=of_dependent[some])
            torch.sum(pairs, 1, out=of_candidate[some])
        return None, of_weight, of_dependent, of_candidate, of_out


def _layers(
    features: Features, weight: OfFeatures, dependent: OfDependents, candidate: OfCandidates
) -> Iterator[tuple[slice, Hidden, Hidden]]:
    """The hidden layer of a few sentences at a time, and as much room, both used again."""
    sentences, pairs = len(features), features.shape[1] * features.shape[2]
    largest = IN_CACHE if features.device.type == "cpu" else ELSEWHERE
    step = max(1, largest // max(1, pairs * weight.shape[1]))
    room = features.new_empty(2, min(step, sentences) * pairs, weight.shape[1])
    for first in range(0, sentences, step):
        some = slice(first, min(first + step, sentences))
        layer, other = room[:, : (some.stop - first) * pairs]
        torch.mm(features[some].flatten(0, 2), weight, out=layer)
        cells = layer.view(*features[some].shape[:3], -1)
        cells.add_(dependent[some, :, None]).add_(candidate[some, None]).sigmoid_()
        yield some, layer, other


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


WORTH_IT = 1 << 15
"""Numbers of the maps of a batch from which on a second or two of compiling is worth it: there will
be hundreds of batches."""


@dataclass(frozen=True)
class Loops:
    """Both directions of the computation, for tensors of float32 on the CPU, compiled.

    A cell is read once for both directions, and what is added up stays in registers or the cache.

    Attributes:
        forward: of maps, weights of queries, weights of keys and sums, which it writes.
        backward: of maps, derivatives by the sums, and derivatives by the weights of queries and of
            keys, which it writes.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]

    def add_up(self, *tensors: Tensor) -> None:
        """The sums, into the last tensor."""
        self.forward(*(_array(each) for each in tensors))

    def derive(self, *tensors: Tensor) -> None:
        """The derivatives by the weights, into the last two tensors."""
        self.backward(*(_array(each) for each in tensors))


def compiled_for(maps: Tensor) -> Loops | None:
    """Loops for maps of this type and size; None where they cannot be used, or are not worth it."""
    if maps.dtype != torch.float32 or maps.device.type != "cpu" or maps.numel() < WORTH_IT:
        return None
    return compiled()


@cache
def compiled() -> Loops:
    """Return the loops."""
    return Loops(compile_loop(_forward), compile_loop(_backward))


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()


@no_type_check
def _forward(maps, of_query, of_key, sums):
    sentences, positions, _, heads = maps.shape
    for sentence in range(sentences):
        for query in range(positions):
            for key in range(positions):
                there, back = np.float32(0), np.float32(0)
                for head in range(heads):
                    weight = maps[sentence, query, key, head]
                    there += weight * (
                        of_query[sentence, query, 0, head] + of_key[sentence, key, 0, head]
                    )
                    back += weight * (
                        of_query[sentence, query, 1, head] + of_key[sentence, key, 1, head]
                    )
                sums[0, sentence, query, key] = there
                sums[1, sentence, query, key] = back


@no_type_check
def _backward(maps, of_sums, of_query, of_key):
    sentences, positions, _, heads = maps.shape
    of_query[:] = 0
    of_key[:] = 0
    for sentence in range(sentences):
        for query in range(positions):
            for key in range(positions):
                for direction in range(2):
                    change = of_sums[direction, sentence, query, key]
                    # A loop for each: arrays that may overlap are then vectorised, twice as fast.
                    for head in range(heads):
                        of_query[sentence, query, direction, head] += (
                            maps[sentence, query, key, head] * change
                        )
                    for head in range(heads):
                        of_key[sentence, key, direction, head] += (
                            maps[sentence, query, key, head] * change
                        )
