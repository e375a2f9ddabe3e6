"""Effective attention under causal masks, in texts of several blocks of queries."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings, strategies

from claimed_devices import claimed_devices
from headlight.capture.deferred_checks import answered_later
from headlight.measures import effective_causal as causal_spaces
from headlight.measures.causal_projections import BLOCK, null_vectors
from headlight.measures.effective import RowSpaces
from headlight.measures.effective_causal import LONGEST, is_causal
from measures.layers import DTYPES, Layer, Sizes, random_layer, softmax
from measures.test_effective import VALUES, depend, effective_keeps_promise

KEYS = 2 * BLOCK + 9
SIZES = Sizes(heads=2, queries=KEYS, keys=KEYS, head_dim=5, width=11)


def causal(padding: str, values: str, seed: int = 0, sharing: int = 1, keys: int = KEYS) -> Layer:
    layer = random_layer(replace(SIZES, sharing=sharing, queries=keys, keys=keys), seed)
    place = torch.arange(keys)
    real = torch.ones(SIZES.batch, keys, dtype=torch.bool)
    fewer = 30 * keys // KEYS, 12 * keys // KEYS
    real[1] = {"none": place >= 0, "right": place < fewer[0], "left": place >= fewer[1]}[padding]
    visible = real[:, None] & (place <= place[:, None])
    logits = 2 * torch.randn(
        layer.weight.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    layer = replace(layer, weight=softmax(logits, visible).float(), visible=visible)
    return depend(layer, values)


@pytest.mark.parametrize("sharing", [1, 2])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("padding", ["none", "right", "left"])
def test_long_texts_are_as_defined(padding: str, values: str, sharing: int) -> None:
    effective_keeps_promise(causal(padding, values, sharing=sharing))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    keys=strategies.integers(SIZES.head_dim + 1, LONGEST * SIZES.head_dim),
    padding=strategies.sampled_from(["none", "right", "left"]),
    sharing=strategies.sampled_from([1, 2]),
    smallest=strategies.integers(0, 12),
    seed=strategies.integers(0, 2**16),
    dtype=strategies.sampled_from(DTYPES),
)
def test_texts_with_few_null_vectors_are_as_defined(
    keys: int, padding: str, sharing: int, smallest: int, seed: int, dtype: torch.dtype
) -> None:
    layer = causal(padding, "random", seed, sharing, keys)
    scales = torch.logspace(0, -smallest / 2, SIZES.head_dim)
    effective_keeps_promise(replace(layer, value=layer.value * scales).to(dtype))


def test_each_row_adds_one_null_vector_that_ends_there() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(20, 9, 4, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(rows).Q
    vectors, certain = null_vectors(basis)
    assert certain.all()
    assert torch.allclose(vectors.mT @ vectors, torch.eye(5).double(), atol=1e-9)
    for number in range(5):
        seen = vectors[:, : 5 + number, number, None]
        assert torch.equal(vectors[:, 5 + number :, number], torch.zeros(20, 4 - number).double())
        assert (seen.mT @ rows[:, : 5 + number]).abs().max() < 1e-9


def test_short_texts_of_different_tokens_need_no_factor_for_each_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(causal_spaces, "Prefixes", None)
    monkeypatch.setattr(causal_spaces, "row_space", None)
    effective_keeps_promise(causal("none", "random", keys=LONGEST * SIZES.head_dim))


def test_a_text_of_few_tokens_beside_a_longer_one_is_as_defined() -> None:
    keys = 2 * LONGEST * SIZES.head_dim
    layer = causal("right", "random", keys=keys)
    assert layer.visible is not None
    assert SIZES.head_dim < int(layer.visible[1, -1].sum()) < LONGEST * SIZES.head_dim
    effective_keeps_promise(layer)


@pytest.mark.parametrize("seed", range(5))
def test_badly_conditioned_values_are_as_defined(seed: int) -> None:
    layer = causal("none", "random", seed)
    scales = torch.logspace(0, -5, SIZES.head_dim)
    effective_keeps_promise(replace(layer, value=layer.value * scales))


def tokens(types: int, sharing: int = 2, seed: int = 0) -> Layer:
    """What layer 0 sees: the values of a token are the same wherever it stands; one is zero."""
    layer = causal("left", "random", seed, sharing)
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(types, (SIZES.batch, KEYS), generator=generator)
    kinds = layer.value[:, :, :types].clone()
    kinds[:, :, 0] = 0
    return replace(
        layer, value=torch.stack([kind[:, i] for kind, i in zip(kinds, ids, strict=True)])
    )


@pytest.mark.parametrize("types", [2, SIZES.head_dim, SIZES.head_dim + 1, 15])
@pytest.mark.parametrize("seed", range(3))
def test_repeated_tokens_are_as_defined_and_need_no_decomposition(
    types: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal_spaces, "row_space", None)
    effective_keeps_promise(tokens(types, seed=seed))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    types=strategies.integers(1, KEYS),
    sharing=strategies.sampled_from([1, 2]),
    smallest=strategies.integers(0, 12),
    seed=strategies.integers(0, 2**16),
    dtype=strategies.sampled_from(DTYPES),
)
def test_tokens_of_any_kind_are_as_defined(
    types: int, sharing: int, smallest: int, seed: int, dtype: torch.dtype
) -> None:
    layer = tokens(types, sharing, seed)
    scales = torch.logspace(0, -smallest / 2, SIZES.head_dim)
    effective_keeps_promise(replace(layer, value=layer.value * scales).to(dtype))


def test_heads_of_shared_values_with_a_singular_projection_have_spaces_of_their_own() -> None:
    layer = causal("none", "random", sharing=2)
    output = layer.output.clone()
    output[0, 1] = output[0, 0]
    scores = effective_keeps_promise(replace(layer, output=output))
    assert scores.rank[0, :, -1].tolist() == [SIZES.head_dim - 1, SIZES.head_dim]


def test_no_bit_depends_on_the_other_texts_of_a_batch() -> None:
    layer = tokens(15)
    assert layer.visible is not None
    whole = layer.scores().effective
    for number in range(SIZES.batch):
        one = slice(number, number + 1)
        alone = replace(
            layer,
            weight=layer.weight[one],
            value=layer.value[one],
            visible=layer.visible[one],
        )
        assert torch.equal(alone.scores().effective[0], whole[number])


@pytest.mark.slow
@pytest.mark.parametrize("keys", [SIZES.head_dim, LONGEST * SIZES.head_dim, KEYS])
@pytest.mark.parametrize("padding", ["none", "right", "left"])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_a_device_is_waited_for_once_in_a_layer(
    keys: int, padding: str, precision: torch.dtype
) -> None:
    layer = causal(padding, "random", keys=keys)
    assert layer.visible is not None
    rows = layer.scores().rows
    wanted = RowSpaces(rows, SIZES.width, layer.visible[:, -1])
    exact = wanted.effective(layer.weight, layer.visible)
    with claimed_devices() as devices:
        weight, visible = layer.weight.to("cuda:0"), layer.visible.to("cuda:0")
        spaces = RowSpaces(rows.to("cuda:0"), SIZES.width, visible[:, -1])
        before = devices.waits.total()
        with answered_later() as answers:
            result = spaces.effective(weight, visible, precision)
        assert devices.waits.total() - before == 1
        if not all(bool(answer) for answer in answers):  # so it is done again, waiting
            assert padding == "left"
            result = spaces.effective(weight, visible, precision)
        attention, rank = result.attention.cpu(), result.rank.cpu()
    torch.testing.assert_close(attention.double(), exact.attention, rtol=0, atol=1e-6)
    assert torch.equal(rank.expand_as(exact.rank), exact.rank)


def test_weights_and_values_may_be_part_of_a_graph_of_gradients() -> None:
    layer = causal("none", "random")
    wanted = layer.scores().effective
    traced = replace(
        layer, weight=layer.weight.requires_grad_(), value=layer.value.requires_grad_()
    )
    assert torch.equal(traced.scores().effective, wanted)


def test_asking_again_changes_nothing() -> None:
    layer = tokens(15)
    spaces = layer.scores().vectors.spaces
    wanted = spaces.effective(layer.weight, layer.visible)
    assert torch.equal(spaces.ranks(layer.visible), wanted.rank)
    assert torch.equal(spaces.effective(layer.weight, layer.visible).attention, wanted.attention)


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


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    keys=strategies.integers(SIZES.head_dim + 1, 300),
    sharing=strategies.sampled_from([1, 2]),
    smallest=strategies.integers(0, 10),
    longest=strategies.sampled_from([1, 100]),
    padding=strategies.sampled_from(["none", "right", "left"]),
    block=strategies.sampled_from([48, 300]),
    seed=strategies.integers(0, 2**16),
)
def test_products_in_float32_lose_what_a_row_of_float32_does_not_hold(
    keys: int, sharing: int, smallest: int, longest: int, padding: str, block: int, seed: int
) -> None:
    layer = causal(padding, "random", seed, sharing, keys)
    assert layer.visible is not None
    value = layer.value * torch.logspace(0, -smallest / 2, SIZES.head_dim)
    value[:, :, keys // 2] *= longest  # a token like no other before it
    spaces = replace(layer, value=value).scores().vectors.spaces
    exact = spaces.effective(layer.weight, layer.visible).attention
    rounded = torch.zeros_like(layer.weight)
    for first in range(0, keys, block):
        some, seen = slice(first, first + block), min(first + block, keys)
        weight, visible = layer.weight[:, :, some, :seen], layer.visible[:, some, :seen]
        part = spaces.effective(weight, visible, torch.float32, first)
        rounded[:, :, some, :seen] = part.attention
    length = layer.weight.double().norm(dim=-1, keepdim=True)
    assert ((rounded.double() - exact).abs() <= 3e-6 * length).all()
