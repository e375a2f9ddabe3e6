"""What a gate between the context and W^O does to every measure, by loops in float64."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import definitions
from definitions import Array, with_gate
from headlight.capture.record import QueryBlock
from headlight.errors import CaptureError
from headlight.measures import Scores, word_score
from headlight.pool import Words
from measures.layers import DTYPES, MASKS, Layer, Sizes, keeps_promise, random_layer, wide
from measures.test_words import layer_of, lengths_of_merged_sums, lengths_of_sums, wanted_of
from word_numbers import batches, padded, seeds

sizes = st.builds(
    Sizes,
    batch=st.integers(1, 2),
    heads=st.just(4),
    sharing=st.sampled_from([1, 2, 4]),
    queries=st.integers(1, 7),
    keys=st.integers(1, 7),
    head_dim=st.integers(2, 5),
    width=st.integers(5, 20),
)


def gated_layer(
    of: Sizes, seed: int, mask: str, dtype: torch.dtype, zeros: float, rank: int | None = None
) -> Layer:
    """A layer whose gates are vectors, of which a share of components is closed."""
    generator = torch.Generator().manual_seed(seed)
    layer = random_layer(of, seed, mask, torch.float64)
    shape = (of.batch, of.heads, of.queries, of.head_dim)
    gate = torch.randn(shape, generator=generator, dtype=torch.float64).sigmoid()
    closed = torch.rand(shape, generator=generator) < zeros
    output = layer.output.clone()
    if rank is not None:
        output[:2, rank:] = 0  # two heads of which W has a lower rank
    return replace(layer, gate=gate.masked_fill(closed, 0), output=output).to(dtype)


layers = st.builds(
    gated_layer,
    sizes,
    seed=seeds,
    mask=st.sampled_from(MASKS),
    dtype=st.sampled_from(DTYPES),
    zeros=st.sampled_from([0.0, 0.0, 0.3]),
    rank=st.sampled_from([None, None, 1]),
)


def by_text(layer: Layer, define, *, seen: bool = False, axis: int = 1) -> Array:
    """A definition with the gate of each text."""
    assert layer.gate is not None
    rows = zip(layer.weight, layer.value, layer.gate, layer.seen, strict=True)
    return np.stack(
        [
            with_gate(
                define,
                wide(weight),
                wide(value),
                wide(layer.output),
                wide(gate),
                visible.numpy() if seen else None,
                axis,
            )
            for weight, value, gate, visible in rows
        ]
    )


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(layers)
def test_norms_of_gated_vectors(layer: Layer) -> None:
    scores = layer.scores()
    keeps_promise(scores.weight, wide(layer.weight))
    keeps_promise(scores.norm, by_text(layer, definitions.weighted_norm))
    keeps_promise(scores.merged_norm, by_text(layer, definitions.merged_norm, axis=0))
    of_key = layer.by_text(definitions.vector_norm, "value", "output")
    keeps_promise(scores.vector_norm, of_key)  # before the gate


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(layers)
def test_effective_attention_of_gated_vectors(layer: Layer) -> None:
    """Also where gates are zero, or W^O of lower rank: T is then another for each query."""
    scores = layer.scores()
    keeps_promise(scores.effective, by_text(layer, definitions.effective, seen=True), scale=1)
    assert layer.gate is not None
    ranks = scores.rank.expand(layer.weight.shape[:3])
    for text, query in np.ndindex(len(ranks), ranks.shape[2]):
        value = definitions.gated(wide(layer.value[text]), wide(layer.gate[text, :, query]))
        wanted = definitions.rank(value, wide(layer.output), layer.seen[text, query].numpy())
        assert ranks[text, :, query].tolist() == wanted.tolist()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(layers)
def test_a_gate_for_each_head_scales_the_weights(layer: Layer) -> None:
    """The measures are those of g α, and f is what it was."""
    assert layer.gate is not None
    gate = layer.gate[..., :1]
    found = replace(layer, gate=gate).scores()
    weight = wide(gate) * wide(layer.weight)
    keeps_promise(found.weight, weight)
    scaled = replace(layer, weight=torch.tensor(weight), gate=None)
    keeps_promise(
        found.norm, scaled.by_text(definitions.weighted_norm, "weight", "value", "output")
    )
    keeps_promise(
        found.merged_norm, scaled.by_text(definitions.merged_norm, "weight", "value", "output")
    )
    names = ("weight", "value", "output", "seen")
    keeps_promise(found.effective, scaled.by_text(definitions.effective, *names), scale=1)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("mask", ["none", "causal", "left"])
def test_blocks_of_queries_say_the_same(mask: str, zeros: float) -> None:
    of = Sizes(queries=9, keys=9, head_dim=2)
    layer = gated_layer(of, 5, mask, torch.float64, zeros)
    whole, gate = layer.scores(), layer.gate
    assert gate is not None
    record, vectors = whole.record, None
    real = None if layer.visible is None else layer.visible[:, -1]
    for first in (0, 4, 8):
        part = slice(first, first + 4)
        visible = layer.visible if mask == "none" else layer.seen[:, part]
        block = replace(
            record,
            weight=layer.weight[:, :, part],
            visible=visible,
            gate=gate[:, :, part],
            block=QueryBlock(first, 9, layer.value, real, None),
        )
        scores = Scores(block, vectors=vectors)
        vectors = scores.vectors
        for name in ("norm", "effective"):
            wanted = whole.of(name)[:, :, part]
            torch.testing.assert_close(scores.of(name), wanted, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(scores.merged_norm, whole.merged_norm[:, part])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(batches, st.sampled_from(["left", "right"]), seeds, st.booleans())
def test_vectors_of_a_word_are_summed_before_they_are_measured(
    texts: list[list[int]], side: str, seed: int, causal: bool
) -> None:
    word = padded(texts, side)
    layer = layer_of(word, seed, causal=causal)
    shape = (*layer.weight.shape[:3], layer.value.shape[-1])
    generator = torch.Generator().manual_seed(seed)
    gate = torch.randn(shape, generator=generator, dtype=torch.float64).sigmoid()
    layer, words = replace(layer, gate=gate), Words.of(word)
    for measure, define, axis in (
        ("norm", lengths_of_sums, 1),
        ("merged_norm", lengths_of_merged_sums, 1),
    ):
        between = [
            with_gate(
                partial(define, row=row),
                wide(layer.weight[text]),
                wide(layer.value[text]),
                wide(layer.output),
                wide(gate[text]),
                axis=axis,
            )
            for text, row in enumerate(word.tolist())
        ]
        wanted = wanted_of(layer, between, word, words, False)
        keeps_promise(word_score(layer.scores(), measure, words, "vectors"), wanted)


def test_null_spaces_are_those_of_all_queries_or_refused() -> None:
    of = Sizes(queries=9, keys=9, head_dim=2)
    layer = gated_layer(of, 3, "causal", torch.float64, 0.0)
    assert bool((layer.scores().null_spaces.rank == replace(layer, gate=None).scores().rank).all())
    closed = gated_layer(of, 3, "causal", torch.float64, 0.3)
    with pytest.raises(CaptureError, match=r"^layer\.0\.attention: a gate is zero"):
        _ = closed.scores().null_spaces
