"""What probes compute by few sentences at a time: the same as all at once, derivatives included."""

import pytest
import torch

from headlight_papers.studies.parser_probes import weighted_maps, weighted_maps as hidden_layer

SENTENCES, WORDS, FEATURES, HIDDEN, HEADS = 5, 3, 2, 4, 3


@pytest.fixture(params=[1, 2 * (WORDS + 1) * (WORDS + 1) * HIDDEN, 1 << 20])
def block(request, monkeypatch):
    """One sentence at a time, a few and the rest, and all of them."""
    monkeypatch.setattr(hidden_layer, "IN_CACHE", request.param)
    monkeypatch.setattr(weighted_maps, "AT_ONCE", request.param)


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


@pytest.mark.usefixtures("block")
def test_a_hidden_layer_over_pairs_by_its_definition(layer):
    features, weight, dependent, candidate, out = layer
    hidden = features @ weight + dependent[:, :, None] + candidate[:, None]
    torch.testing.assert_close(hidden_layer.pair_scores(*layer), hidden.tanh() @ out)


@pytest.mark.usefixtures("block")
def test_sums_over_heads_by_their_definition(sums):
    maps, of_query, of_key = sums
    weights = of_query[:, :, None] + of_key[:, None]
    expected = torch.einsum("bxyk,bxyck->cbxy", maps, weights)
    torch.testing.assert_close(weighted_maps.weighted_maps(*sums), expected)


@pytest.mark.usefixtures("block")
def test_derivatives_are_differences(layer, sums):
    assert torch.autograd.gradcheck(hidden_layer.pair_scores, layer)
    assert torch.autograd.gradcheck(weighted_maps.weighted_maps, sums)


def test_derivatives_in_float32_are_those_of_the_definition_in_float64(layer):
    single = [each.detach().float().requires_grad_(each.requires_grad) for each in layer]
    features, weight, dependent, candidate, out = layer
    hidden = (features @ weight + dependent[:, :, None] + candidate[:, None]).tanh() @ out
    expected = torch.autograd.grad(hidden.sin().sum(), layer[1:])
    found = torch.autograd.grad(hidden_layer.pair_scores(*single).sin().sum(), single[1:])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 5), (3, 7, 48), (1, 2, 145)])
def test_compiled_sums_over_heads_are_those_of_the_definition_in_float64(size, monkeypatch):
    sentences, positions, heads = size
    monkeypatch.setattr(weighted_maps, "WORTH_IT", 1)
    maps = drawn(sentences, positions, positions, heads, learned=False)
    weights = [drawn(sentences, positions, 2, heads) for _ in range(2)]
    of_query, of_key = weights
    defined = torch.einsum("bxyk,bxyck->cbxy", maps, of_query[:, :, None] + of_key[:, None])
    # Transposed memory, which the loops would read wrongly if it were not copied.
    single = [each.detach().float().mT.contiguous().mT.requires_grad_() for each in weights]
    assert weighted_maps.compiled_for(maps.float()) is weighted_maps.compiled()
    found = weighted_maps.weighted_maps(maps.float(), *single)
    torch.testing.assert_close(found.double(), defined, rtol=1e-5, atol=1e-4)
    expected = torch.autograd.grad(defined.sin().sum(), weights)
    derived = torch.autograd.grad(found.sin().sum(), single)
    for one, other in zip(derived, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-3)


def test_loops_are_compiled_for_what_is_worth_it_alone():
    large = torch.zeros(1, 100, 100, 4)
    assert weighted_maps.compiled_for(large)
    assert weighted_maps.compiled_for(large[:, :10]) is None
    assert weighted_maps.compiled_for(large.double()) is None
    assert weighted_maps.compiled_for(large.to("meta")) is None
