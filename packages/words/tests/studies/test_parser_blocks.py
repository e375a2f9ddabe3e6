"""Sums of probes over all pairs of words are what their definitions say, with derivatives."""

import pytest
import torch

from headlight_words.studies.parser_probes import batches

SENTENCES, WORDS, FEATURES, HIDDEN, HEADS = 5, 3, 2, 4, 3


def drawn(*shape: int, learned: bool = True) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_(learned)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return (
        drawn(SENTENCES, WORDS, WORDS + 1, FEATURES, learned=False),
        drawn(FEATURES, HIDDEN),
        drawn(SENTENCES, WORDS, HIDDEN),
        drawn(SENTENCES, WORDS + 1, HIDDEN),
        drawn(HIDDEN),
    )


@pytest.fixture
def sums():
    torch.manual_seed(0)
    return (
        drawn(SENTENCES, WORDS, WORDS, HEADS, learned=False),
        drawn(SENTENCES, WORDS, 2, HEADS),
        drawn(SENTENCES, WORDS, 2, HEADS),
    )


def test_a_hidden_layer_over_pairs_by_its_definition(layer):
    features, weight, dependent, candidate, out = layer
    hidden = features @ weight + dependent[:, :, None] + candidate[:, None]
    torch.testing.assert_close(batches.pair_scores(*layer), hidden.tanh() @ out)


def test_sums_over_heads_by_their_definition(sums):
    maps, of_query, of_key = sums
    weights = of_query[:, :, None] + of_key[:, None]
    expected = torch.einsum("bxyk,bxyck->cbxy", maps, weights)
    torch.testing.assert_close(batches.weighted_maps(*sums), expected)


def test_derivatives_are_differences(layer, sums):
    assert torch.autograd.gradcheck(batches.pair_scores, layer)
    assert torch.autograd.gradcheck(batches.weighted_maps, sums)


def test_derivatives_in_float32_are_those_of_the_definition_in_float64(layer):
    single = [each.detach().float().requires_grad_(each.requires_grad) for each in layer]
    features, weight, dependent, candidate, out = layer
    hidden = (features @ weight + dependent[:, :, None] + candidate[:, None]).tanh() @ out
    expected = torch.autograd.grad(hidden.sin().sum(), layer[1:])
    found = torch.autograd.grad(batches.pair_scores(*single).sin().sum(), single[1:])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)
