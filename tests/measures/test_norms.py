"""Every norm keeps its digits: 1e-4 of each entry above 1e-6 of the largest, in any precision."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings, strategies
from torch import Tensor

import definitions
from definitions import Array
from headlight.errors import CaptureError
from headlight.measures import Scores
from measures.layers import DTYPES, MASKS, Layer, Sizes, keeps_promise, random_layer, wide

sizes = strategies.builds(
    Sizes,
    batch=strategies.integers(1, 2),
    heads=strategies.just(4),
    sharing=strategies.sampled_from([1, 2, 4]),
    queries=strategies.integers(1, 7),
    keys=strategies.integers(1, 7),
    head_dim=strategies.integers(1, 5),
    width=strategies.integers(5, 20),
)
layers = strategies.builds(
    random_layer,
    sizes,
    seed=strategies.integers(0, 2**32 - 1),
    mask=strategies.sampled_from(MASKS),
    dtype=strategies.sampled_from(DTYPES),
    peak=strategies.sampled_from([0.0, 1.0, 5.0, 30.0]),
)


def transformed(layer: Layer) -> Array:
    return layer.by_text(definitions.vector_norm, "value", "output")


def weighted(layer: Layer) -> Array:
    return layer.by_text(definitions.weighted_norm, "weight", "value", "output")


def merged(layer: Layer) -> Array:
    return layer.by_text(definitions.merged_norm, "weight", "value", "output")


def norms_keep_promise(layer: Layer) -> Scores:
    scores = layer.scores()
    keeps_promise(scores.vector_norm, transformed(layer))
    keeps_promise(scores.norm, weighted(layer))
    keeps_promise(scores.merged_norm, merged(layer))
    return scores


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(layers)
def test_norms_are_as_defined(layer: Layer) -> None:
    norms_keep_promise(layer)


def noise(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("left_over", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("heads", [2, 4, 12])
def test_heads_that_cancel_one_another(left_over: float, heads: int) -> None:
    """The second half of the heads does what the first does, with the sign turned."""
    layer = random_layer(Sizes(batch=1, heads=heads, head_dim=4, width=24))
    half = heads // 2
    value, output = layer.value.clone(), layer.output.clone()
    value[:, half:] = -value[:, :half] * (1 + left_over * noise(*value[:, half:].shape)).float()
    output[half:] = output[:half]
    weight = layer.weight.clone()
    weight[:, half:] = weight[:, :half]
    weight[..., 0] = layer.weight[..., 0]  # one token does not cancel, and is the largest
    norms_keep_promise(replace(layer, weight=weight, value=value, output=output))


@pytest.mark.parametrize("grouped", [False, True])
def test_heads_that_cancel_exactly_leave_nothing(grouped: bool) -> None:
    layer = random_layer(Sizes(heads=2))
    value, output = layer.value[:, :1], layer.output[:1]
    if grouped:
        output = torch.cat([output, -output])
    else:
        value, output = torch.cat([value, -value], dim=1), output.repeat(2, 1, 1)
    weight = layer.weight[:, :1].repeat(1, 2, 1, 1)
    scores = replace(layer, weight=weight, value=value, output=output).scores()
    assert (scores.merged_norm < 1e-14 * scores.norm.sum(dim=1)).all()
    assert scores.norm.all()


def flattened(output: Tensor, gain: float) -> tuple[Tensor, Tensor]:
    """W_h with one singular value lowered to `gain`, and the directions that it belongs to."""
    left, values, right = torch.linalg.svd(output, full_matrices=False)
    values[:, -1] = gain
    return (left * values[:, None]) @ right, left[..., -1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gain", [1e-2, 1e-3, 1e-4, 1e-5])
def test_values_near_the_null_space_of_the_projection(gain: float, dtype: torch.dtype) -> None:
    """Such f(x) are short, though v(x) and W are long; they are what special tokens are made of."""
    layer = random_layer(Sizes(head_dim=8, width=40, keys=8), dtype=torch.float64)
    output, silent = flattened(layer.output, gain)
    value = layer.value.clone()
    value[:, :, 1:] = silent[:, None] * noise(*value.shape[:2], 7, 1)
    norms_keep_promise(replace(layer, value=value, output=output).to(dtype))


def test_in_float32_values_near_the_null_space_would_be_wrong() -> None:
    """v G vᵀ, which needs no decomposition, has no digits left there."""
    layer = random_layer(Sizes(head_dim=8, width=40, keys=8), dtype=torch.float64)
    output, silent = flattened(layer.output, 1e-5)
    value = layer.value.clone()
    value[:, :, 1:] = silent[:, None]
    layer = replace(layer, value=value, output=output).to(torch.float32)
    gram = layer.output @ layer.output.mT
    naive = torch.einsum("bhkd,hde,bhke->bhk", layer.value, gram, layer.value)
    error = np.abs(wide(naive.clamp_min(0).sqrt()) / transformed(layer) - 1)
    assert error[:, :, 1:].max() > 0.01
    norms_keep_promise(layer)


@pytest.mark.parametrize("value_scale", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("output_scale", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_any_scale(value_scale: float, output_scale: float, mask: str) -> None:
    layer = random_layer(Sizes(), mask=mask)
    norms_keep_promise(
        replace(layer, value=layer.value * value_scale, output=layer.output * output_scale)
    )


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_tokens_of_very_different_scales(scale: float) -> None:
    """Those that get all of the attention may be the shortest by far."""
    layer = random_layer(Sizes(batch=1), peak=0.0)
    value, weight = layer.value.clone(), layer.weight.clone()
    value[:, :, 0] *= scale
    weight[..., 0] /= scale
    norms_keep_promise(replace(layer, value=value, weight=weight / weight.sum(-1, keepdim=True)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_zero_have_norms_of_zero(dtype: torch.dtype) -> None:
    layer = random_layer(Sizes(), dtype=dtype)
    silent = replace(layer, value=torch.zeros_like(layer.value))
    scores = norms_keep_promise(silent)
    for score in (scores.vector_norm, scores.norm, scores.merged_norm):
        assert not score.any()


def test_a_query_that_sees_nothing_moves_nothing() -> None:
    layer = random_layer(Sizes(batch=8), mask="left")
    blind = ~layer.seen.any(-1)
    assert blind.any()
    scores = norms_keep_promise(layer)
    assert not scores.norm.transpose(1, 2)[blind].any()
    assert not scores.merged_norm[blind].any()


def test_one_head_merged_is_itself() -> None:
    scores = random_layer(Sizes(heads=1)).scores()
    torch.testing.assert_close(scores.merged_norm, scores.norm[:, 0])


@settings(max_examples=40, deadline=None)
@given(layers)
@example(random_layer(Sizes(2, 4, 1, 5, 7, 1, 5), seed=35, mask="none", peak=30.0))
def test_merging_never_adds_length(layer: Layer) -> None:
    """The triangle inequality, to the rounding of float32, which has no squares of less."""
    scores = layer.scores()
    total = scores.norm.sum(dim=1)
    least = torch.finfo(torch.float32).tiny ** 0.5
    assert (scores.merged_norm <= total * (1 + 1e-5) + least).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths_of_inputs(dtype: torch.dtype) -> None:
    given = (noise(2, 6, 9) * torch.tensor([1e-3, 1.0, 100.0]).repeat(3)).to(dtype)
    found = random_layer(Sizes(), dtype=dtype).scores(given=given).input_norm
    keeps_promise(found, np.stack([definitions.input_norm(wide(text)) for text in given]))


def test_inputs_that_were_not_found_are_refused_in_a_sentence() -> None:
    with pytest.raises(CaptureError, match=r"^layer\.0\.attention: .*‖x‖ is not known\.$"):
        _ = random_layer(Sizes()).scores().input_norm
