"""Singular values of f: against the whole matrices, on models that keep W^V in different places."""

import numpy as np
import pytest
import torch

from architectures import ARCHITECTURES
from headlight.capture import CapturedModel
from headlight.capture.value_map import value_map
from headlight.errors import UnsupportedModelError
from headlight.measures.singular_values import singular_values


def whole(weight: np.ndarray, bias: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Eq. 6 and 7 for one head, formed and multiplied."""
    rows, size = weight.shape
    before = np.zeros((rows + 1, size + 1))
    before[:rows, :size], before[rows, :size], before[rows, size] = weight, bias, 1
    after = np.zeros((size + 1, output.shape[1] + 1))
    after[:size, :-1], after[size, -1] = output, 1
    return before @ after


@pytest.mark.parametrize("groups", [1, 2])
def test_they_are_those_of_the_whole_map(groups: int) -> None:
    generator = torch.Generator().manual_seed(groups)
    value = torch.randn(4 // groups, 10, 3, generator=generator, dtype=torch.float64)
    bias = torch.randn(4 // groups, 3, generator=generator, dtype=torch.float64)
    output = torch.randn(4, 3, 7, generator=generator, dtype=torch.float64)
    found = singular_values(value, bias, output)
    assert found.shape == (4, 4)
    for head in range(4):
        formed = whole(
            *(part.numpy() for part in (value[head // groups], bias[head // groups], output[head]))
        )
        np.testing.assert_allclose(found[head], np.linalg.svd(formed)[1][:4], rtol=1e-12)


def test_a_map_that_can_be_computed_by_hand() -> None:
    # f(x) = 2 x without a bias: singular values 2, 2 and, for the appended 1, 1.
    found = singular_values(torch.eye(2)[None], torch.zeros(1, 2), 2 * torch.eye(2)[None])
    np.testing.assert_allclose(found[0], [2, 2, 1])


NAMES = {row.name: row for row in ARCHITECTURES}
TRIED = ["BERT", "GPT-2", "GPT-NeoX", "Llama", "ALBERT", "BART", "T5", "ViT", "Phi-3"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TRIED if name in NAMES])
def test_the_values_are_found_in_their_source(name: str) -> None:
    model = CapturedModel(NAMES[name].build(), name=name)
    for site in model.sites:
        found = value_map(model, site)
        assert found.weight.shape[0] == site.kv_heads
        assert found.weight.shape[2] == site.head_dim


def test_models_of_most_kinds_are_tried() -> None:
    assert len([name for name in TRIED if name in NAMES]) >= 6, sorted(NAMES)


def test_values_that_are_changed_on_their_way_are_refused() -> None:
    model = CapturedModel(NAMES["BERT"].build(), name="BERT")
    site = model.sites[0]
    assert site.source is not None
    handle = site.source.register_forward_hook(lambda module, inputs, output: output.tanh())
    try:
        with pytest.raises(UnsupportedModelError, match=r"W\^V cannot be read off"):
            value_map(model, site)
    finally:
        handle.remove()
