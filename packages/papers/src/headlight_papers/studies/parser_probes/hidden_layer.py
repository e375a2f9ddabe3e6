"""A hidden layer over all pairs of words, which never leaves the processor's cache.

Written down as it is defined, the layer is one tensor of 256 numbers for each pair, and nearly all
the time is spent on fetching it from memory, a handful of times in each step.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

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
