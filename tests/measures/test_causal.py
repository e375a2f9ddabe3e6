"""Effective attention under causal masks, in texts of several blocks of queries."""

from dataclasses import replace

import pytest
import torch

from headlight.measures.causal import BLOCK, is_causal
from measures.layers import Layer, Sizes, random_layer, softmax
from measures.test_effective import VALUES, depend, effective_keeps_promise

KEYS = 2 * BLOCK + 9
SIZES = Sizes(heads=2, queries=KEYS, keys=KEYS, head_dim=5, width=11)


def causal(padding: str, values: str, seed: int = 0) -> Layer:
    layer = random_layer(SIZES, seed)
    place = torch.arange(KEYS)
    real = torch.ones(SIZES.batch, KEYS, dtype=torch.bool)
    real[1] = {"none": place >= 0, "right": place < 30, "left": place >= 12}[padding]
    visible = real[:, None] & (place <= place[:, None])
    logits = 2 * torch.randn(
        layer.weight.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    layer = replace(layer, weight=softmax(logits, visible).float(), visible=visible)
    return depend(layer, values)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("padding", ["none", "right", "left"])
def test_long_texts_are_as_defined(padding: str, values: str) -> None:
    effective_keeps_promise(causal(padding, values))


@pytest.mark.parametrize("seed", range(5))
def test_badly_conditioned_values_are_as_defined(seed: int) -> None:
    layer = causal("none", "random", seed)
    scales = torch.logspace(0, -5, SIZES.head_dim)
    effective_keeps_promise(replace(layer, value=layer.value * scales))


def test_a_text_of_one_token_and_one_of_as_many_as_the_head_is_wide() -> None:
    for keys in (1, SIZES.head_dim, SIZES.head_dim + 1):
        layer = random_layer(replace(SIZES, queries=keys, keys=keys), mask="causal")
        effective_keeps_promise(layer)


def test_only_masks_of_this_form_are_taken() -> None:
    causal_mask = torch.ones(1, 4, 4, dtype=torch.bool).tril()
    for mask, expected in (
        (causal_mask, True),
        (causal_mask & torch.tensor([False, True, True, True]), True),
        (causal_mask.triu(-1), False),  # a window
        (torch.ones(1, 4, 4, dtype=torch.bool), False),
    ):
        assert is_causal(mask, mask[:, -1]) == expected
    some = causal_mask[:, 1:3, :3]
    assert is_causal(some, causal_mask[:, -1], first=1)
    assert not is_causal(some, causal_mask[:, -1])
