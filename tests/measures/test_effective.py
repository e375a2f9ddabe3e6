"""Effective attention: what is left of attention when that which changes no output is taken off."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from torch import Tensor

import definitions
from definitions import Array
from headlight.errors import CaptureError
from headlight.measures import Scores
from headlight.measures.effective import effective_of_rows
from measures.layers import DTYPES, MASKS, Layer, Sizes, keeps_promise, random_layer, wide

VALUES = ("random", "repeated", "zeros", "whole", "large and small")
"""Ways in which rows of T depend on one another, or nearly do; exact in every precision."""


def depend(layer: Layer, how: str) -> Layer:
    value = layer.value.clone()
    half = value.shape[2] // 2
    if how == "repeated":
        value[:, :, half : 2 * half] = value[:, :, :half]
    if how == "zeros":
        value[:, :, ::2] = 0
    if how == "whole":  # of rank 1, without any rounding
        value = (2 * value[:, :, :, :1]).round() * (2 * value[:, :, :1]).round()
    if how == "large and small":
        value[:, :, ::2] *= 2.0**-10
    return replace(layer, value=value)


layers = strategies.builds(
    depend,
    strategies.builds(
        random_layer,
        strategies.builds(
            Sizes,
            batch=strategies.integers(1, 2),
            sharing=strategies.sampled_from([1, 2, 4]),
            queries=strategies.integers(1, 6),
            keys=strategies.integers(1, 9),
            head_dim=strategies.integers(1, 5),
            width=strategies.integers(5, 16),
        ),
        seed=strategies.integers(0, 2**32 - 1),
        mask=strategies.sampled_from(MASKS),
        dtype=strategies.sampled_from(DTYPES),
    ),
    strategies.sampled_from(VALUES),
)


def null(layer: Layer) -> Array:
    return layer.by_text(definitions.null, "weight", "value", "output", "seen")


def rank(layer: Layer) -> Array:
    """Shape [batch, head, query]."""

    def one(value: Array, output: Array, seen: Array) -> Array:
        ranks = [definitions.rank(value, output, keys) for keys in seen]
        return np.stack(ranks, axis=-1)

    return layer.by_text(one, "value", "output", "seen")


def effective_keeps_promise(layer: Layer) -> Scores:
    """Also of A∥, as a share of the largest weight; and the ranks are equal."""
    scores = layer.scores()
    hidden, scale = null(layer), float(layer.weight.max())
    keeps_promise(scores.effective, wide(layer.weight) - hidden, scale)
    keeps_promise(scores.null, hidden, scale)
    ranks = scores.rank.expand(*layer.weight.shape[:3]).numpy()
    assert np.array_equal(ranks, rank(layer))
    return scores


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(layers)
def test_effective_attention_and_rank_are_as_defined(layer: Layer) -> None:
    effective_keeps_promise(layer)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(layers)
def test_what_it_takes_off_moves_nothing(layer: Layer) -> None:
    """A∥ T = 0, so A⊥ T = A T, for the T of the keys that a query sees."""
    scores = layer.scores()
    for number, value in enumerate(layer.value):
        t = torch.from_numpy(definitions.transformed(wide(value), wide(layer.output)))
        size = float(t.abs().max())
        assert (scores.null[number] @ t).abs().max() <= 1e-6 * size
        found, wanted = scores.effective[number] @ t, layer.weight[number].double() @ t
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6 * size)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(layers)
def test_it_is_a_projection(layer: Layer) -> None:
    """Taking it again changes nothing, and no row grows."""
    scores = layer.scores()
    again = replace(layer, weight=scores.effective).scores().effective
    torch.testing.assert_close(again, scores.effective, rtol=0, atol=1e-9)
    assert (scores.effective.norm(dim=-1) <= scores.weight.norm(dim=-1) * (1 + 1e-6)).all()


@pytest.mark.parametrize("keys", [1, 2, 7, 8])
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_texts_of_at_most_head_dim_tokens_are_wholly_effective(
    keys: int, mask: str, dtype: torch.dtype
) -> None:
    layer = random_layer(Sizes(queries=keys, keys=keys, head_dim=8, width=32), 0, mask, dtype)
    scores = effective_keeps_promise(layer)
    assert torch.equal(scores.effective, layer.weight.double())
    assert not scores.null.any()


def test_longer_texts_are_not() -> None:
    scores = effective_keeps_promise(random_layer(Sizes(queries=12, keys=12)))
    assert (scores.rank == 3).all()
    assert (scores.null.norm(dim=-1) > 0.01).all()


def test_with_one_value_for_all_tokens_attention_becomes_uniform() -> None:
    """Which of equal values gets the weight makes no difference, so all get the same."""
    layer = random_layer(Sizes(keys=7))
    layer = replace(layer, value=layer.value[:, :, :1].expand(-1, -1, 7, -1).contiguous())
    scores = effective_keeps_promise(layer)
    assert (scores.rank == 1).all()
    torch.testing.assert_close(scores.effective, torch.full_like(scores.effective, 1 / 7))


def test_values_of_zero_leave_nothing() -> None:
    layer = random_layer(Sizes())
    scores = effective_keeps_promise(replace(layer, value=torch.zeros_like(layer.value)))
    assert not scores.rank.any()
    assert not scores.effective.any()


def test_a_projection_without_full_rank_lowers_that_of_t() -> None:
    layer = random_layer(Sizes(head_dim=4, queries=9, keys=9), dtype=torch.float64)
    output = layer.output.clone()
    output[:, 3] = 2 * output[:, 0]
    output[1, 2] = 0
    scores = effective_keeps_promise(replace(layer, output=output))
    assert scores.rank[0].flatten().tolist() == [3, 2, 3, 3]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    keys=strategies.integers(7, 40),
    smallest=strategies.integers(0, 16),
    padding=strategies.integers(0, 4),
    first=strategies.sampled_from([torch.float32, torch.float64]),
    seed=strategies.integers(0, 2**16),
)
def test_a_basis_in_float32_loses_what_a_row_of_float32_does_not_hold(
    keys: int, smallest: int, padding: int, first: torch.dtype, seed: int
) -> None:
    """Well-behaved and weak texts side by side, one of which may be padded, asked for in turn."""
    good = random_layer(Sizes(batch=1, keys=keys, queries=4, head_dim=6, width=24), seed)
    weak = weakened(keys, 10.0 ** (-smallest / 2), seed)
    visible = torch.ones(3, 1, keys, dtype=torch.bool)
    visible[1, :, keys - padding :] = False
    weight = torch.cat([good.weight, weak.weight.float()]) * visible[:, None]
    value = torch.cat([good.value, weak.value.float()])
    spaces = Layer(weight, value, good.output, visible).scores().vectors.spaces
    of = {first: spaces.effective(weight, visible, first).attention}
    for precision in (torch.float64, torch.float32):
        of[precision] = spaces.effective(weight, visible, precision).attention
    length = weight.double().norm(dim=-1, keepdim=True)
    assert ((of[torch.float32].double() - of[torch.float64]).abs() <= 2e-6 * length).all()
    exact = Layer(weight, value, good.output, visible).scores().effective
    torch.testing.assert_close(of[torch.float64], exact, rtol=0, atol=1e-12)


def weakened(keys: int, smallest: float, seed: int = 0) -> Layer:
    """Values with singular values from 1 down to `smallest`, in float64."""
    layer = random_layer(
        Sizes(keys=keys, queries=4, head_dim=6, width=24), seed, dtype=torch.float64
    )
    left, _, right = torch.linalg.svd(layer.value, full_matrices=False)
    values = torch.logspace(0, np.log10(smallest), left.shape[-1], dtype=torch.float64)
    return replace(layer, value=(left * values) @ right)


@pytest.mark.parametrize("smallest", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("keys", [5, 6, 7, 20])
def test_nearly_dependent_values_keep_their_rank(smallest: float, keys: int) -> None:
    """Of whichever factorisation: the bounds between them lie within these condition numbers."""
    for seed in range(3):
        layer = weakened(keys, smallest, seed)
        scores = effective_keeps_promise(layer)
        assert (scores.rank == min(keys, 6)).all()


@pytest.mark.parametrize("smallest", [1e-2, 1e-6, 1e-9])
def test_one_batch_may_hold_every_case(smallest: float) -> None:
    """Well-behaved, weak, dependent and short texts side by side, as each would be alone."""
    good = random_layer(Sizes(batch=1, keys=20, queries=4, head_dim=6, width=24))
    weak, alone = weakened(20, smallest), depend(good, "repeated")
    value = torch.cat([good.value, weak.value[:1], alone.value, good.value])
    visible = torch.ones(4, 1, 20, dtype=torch.bool)
    visible[3, :, 4:] = False
    weight = good.weight.double().repeat(4, 1, 1, 1) * visible[:, None]
    layer = Layer(weight, value.double(), weak.output, visible)
    scores = effective_keeps_promise(layer)
    assert scores.rank[:, 0, 0].tolist() == [6, 6, 6, 4]


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1e15, 1e30])
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("values", ["random", "repeated", "large and small"])
def test_the_scale_of_values_does_not_matter(scale: float, mask: str, values: str) -> None:
    layer = depend(random_layer(Sizes(queries=9, keys=9), mask=mask), values)
    wanted = layer.scores().effective
    split = replace(layer, value=layer.value * scale**0.5, output=layer.output * scale**0.5)
    found = effective_keeps_promise(split).effective
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


def numerical_rank(t: Tensor) -> int:
    """By numpy's rule, in the precision that `t` has."""
    return int(np.linalg.matrix_rank(t.numpy()))


def test_in_float32_the_phenomenon_would_vanish() -> None:
    """T formed in float32 has full numerical rank: A⊥ would equal A, and nothing would warn.

    Rounding each of its d_model columns on its own fills the null space, and the tolerance for
    float32 that would still see the rank would take away much that is real.
    """
    layer = random_layer(Sizes(batch=1, heads=2, queries=96, keys=96, head_dim=32, width=768))
    exact = definitions.transformed(wide(layer.value[0]), wide(layer.output))
    scores = layer.scores()
    for head in range(2):
        in_double = torch.from_numpy(exact[head])
        in_single = layer.value[0, head] @ layer.output[head]
        assert numerical_rank(in_double) == 32 == int(scores.rank[0, head])
        # The rounded entries, looked at without further rounding, are independent.
        assert numerical_rank(in_single.double()) == 96
        left, _, _ = torch.linalg.svd(in_single.double(), full_matrices=False)
        all_of_it = layer.weight[0, head].double() @ left @ left.mT
        torch.testing.assert_close(all_of_it, layer.weight[0, head].double(), rtol=0, atol=1e-12)
        assert float(scores.null[0, head].norm(dim=-1).min()) > 0.1


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_value_bias_is_part_of_t_unless_excluded(dtype: torch.dtype) -> None:
    layer = random_layer(Sizes(sharing=2, queries=9, keys=9), dtype=dtype)
    bias = random_layer(Sizes(batch=1, sharing=2, keys=1), 5, dtype=dtype).value[0, :, 0]
    with_bias = replace(layer, value_bias=bias)
    included, excluded = with_bias.scores(), with_bias.scores("exclude")
    torch.testing.assert_close(included.effective, layer.scores().effective)
    bare = replace(layer, value=layer.value.double() - bias.double()[:, None])
    keeps_promise(excluded.effective, wide(layer.weight) - null(bare), float(layer.weight.max()))
    assert (included.effective - excluded.effective).abs().max() > 1e-3
    # Norms are those of what is really moved, whatever T is asked about.
    assert torch.equal(included.norm, excluded.norm)
    assert torch.equal(included.merged_norm, excluded.merged_norm)


def test_a_bias_that_was_not_found_cannot_be_excluded() -> None:
    scores = random_layer(Sizes()).scores("exclude")
    with pytest.raises(CaptureError, match=r"^layer\.0\.attention: .*cannot be excluded\.$"):
        _ = scores.effective


def test_blocks_of_queries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = random_layer(Sizes(queries=9, keys=9), mask="window")
    whole = layer.scores()
    wanted = whole.effective
    module = import_module("headlight.measures.effective")  # its function has the same name
    monkeypatch.setattr(module, "AT_ONCE", layer.value.numel() * 2)
    parts = layer.scores()
    torch.testing.assert_close(parts.effective, wanted, rtol=0, atol=1e-12)
    assert torch.equal(parts.rank, whole.rank)


@pytest.mark.parametrize("mask", ["all", "causal", "some"])
@pytest.mark.parametrize("keys", [3, 12])
def test_what_is_not_finite_has_no_effective_attention(mask: str, keys: int) -> None:
    """The text beside it has; decompositions would not converge."""
    generator = torch.Generator().manual_seed(5)
    weight = torch.rand(2, 2, keys, keys, generator=generator)
    rows = torch.randn(2, 2, keys, 4, generator=generator, dtype=torch.float64)
    visible = torch.ones(2, keys, keys, dtype=torch.bool)
    if mask != "all":
        visible = visible.tril()
    if mask == "some":
        visible[:, -1, 0] = False
    alone = effective_of_rows(weight[:1], rows[:1], 8, visible[:1])
    rows[1] = torch.nan
    both = effective_of_rows(weight, rows, 8, visible)
    assert not both.attention[1].isfinite().any(-1).all()
    torch.testing.assert_close(both.attention[:1], alone.attention)
    assert torch.equal(both.rank[:1], alone.rank)
