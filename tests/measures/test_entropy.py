"""Entropy of rows, in nats."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from torch import Tensor

import definitions
from headlight.measures import entropy
from measures.layers import DTYPES, MASKS, Layer, Sizes, keeps_promise, random_layer, wide


def rows(*numbers: list[float]) -> Tensor:
    return torch.tensor(numbers)[None, None]


@pytest.mark.parametrize(
    ("row", "nats"),
    [
        ([1.0, 0.0, 0.0, 0.0], 0.0),
        ([0.5, 0.5, 0.0, 0.0], math.log(2)),
        ([0.25, 0.25, 0.25, 0.25], math.log(4)),
        ([0.5, 0.25, 0.25, 0.0], 1.5 * math.log(2)),
        ([2.0, 1.0, 1.0, 0.0], 1.5 * math.log(2)),
        ([-2.0, 1.0, -1.0, 0.0], 1.5 * math.log(2)),
        ([0.0, 0.0, 0.0, 0.0], 0.0),
    ],
)
def test_by_hand(row: list[float], nats: float) -> None:
    torch.testing.assert_close(entropy(rows(row)), torch.tensor([[[nats]]]))


def defined(score: Tensor) -> np.ndarray:
    return np.stack([definitions.entropy(text) for text in wide(score)])


@settings(max_examples=60, deadline=None)
@given(
    layer=strategies.builds(
        random_layer,
        strategies.builds(Sizes, queries=strategies.integers(1, 8), keys=strategies.integers(1, 9)),
        seed=strategies.integers(0, 2**32 - 1),
        mask=strategies.sampled_from(MASKS),
        dtype=strategies.sampled_from(DTYPES),
        peak=strategies.sampled_from([0.0, 1.0, 5.0, 30.0]),
    ),
    scale=strategies.sampled_from([1e-30, 1e-6, 1.0, 1e6, 1e30]),
)
def test_as_defined_at_any_scale(layer: Layer, scale: float) -> None:
    scores, wanted = layer.scores(), defined(layer.weight)
    # The definition rounds the logarithm of a share next to 1 to some 1e-16.
    keeps_promise(scores.entropy, wanted, scale=max(float(wanted.max(initial=0)), 1e-6))
    scaled = layer.weight.double() * scale
    keeps_promise(entropy(scaled.float()), defined(scaled.float()))


@settings(max_examples=60, deadline=None)
@given(seed=strategies.integers(0, 2**32 - 1), keys=strategies.integers(1, 40))
def test_bounds(seed: int, keys: int) -> None:
    score = torch.randn(1, 2, 3, keys, generator=torch.Generator().manual_seed(seed))
    found = entropy(score)
    assert (found >= 0).all()
    assert (found <= math.log(keys) + 1e-6).all()


@pytest.mark.parametrize("rest", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("scale", [1.0, 1e15])
def test_sharp_rows_keep_their_digits(rest: float, scale: float) -> None:
    """One key gets nearly all; ln of the total less the mean logarithm cancels in float32."""
    sharp = [1 - rest, *([rest / 7] * 7)]
    score = rows(sharp, [1 / 8] * 8) * scale
    keeps_promise(entropy(score), defined(score))


def test_a_query_that_sees_nothing_has_no_entropy() -> None:
    layer = random_layer(Sizes(batch=8), mask="left")
    blind = ~layer.seen.any(-1)
    assert blind.any()
    assert not layer.scores().entropy.transpose(1, 2)[blind].any()
