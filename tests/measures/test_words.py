"""Measures between words: every one against its definition, by loops in float64."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import definitions
from definitions import Array
from headlight.errors import UnknownNameError
from headlight.measures import Scores, word_score
from headlight.pool import WordPair, Words
from headlight.vocabulary import NormPooling, QueryPooling
from measures.layers import DTYPES, Layer, Sizes, keeps_promise, random_layer, softmax, wide
from word_numbers import (
    PADDING,
    batches,
    between_texts,
    between_units,
    padded,
    pairs,
    seeds,
    sides,
    sums_over_keys,
    units,
)

hows = st.sampled_from(get_args(QueryPooling))


def layer_of(
    word: torch.Tensor,
    seed: int,
    sharing: int = 1,
    causal: bool = False,
    queries: int | None = None,
) -> Layer:
    """A layer that runs over these texts, or from others to them, as models mask them."""
    batch, tokens = word.shape
    queries = tokens if queries is None else queries
    sizes = Sizes(batch=batch, heads=2, sharing=sharing, queries=queries, keys=tokens)
    layer = random_layer(sizes, seed, dtype=torch.float64)
    visible = (word != PADDING)[:, None].expand(-1, queries, -1)
    if causal:
        visible = visible & torch.ones(tokens, tokens).tril().bool()
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(layer.weight.shape, generator=generator, dtype=torch.float64)
    return replace(layer, weight=softmax(logits, visible), visible=visible)


def lengths_of_sums(weight: Array, value: Array, output: Array, row: list[int]) -> Array:
    """‖Σ_j α_ij f(x_j)‖ over the pieces j of each unit; every vector is formed."""
    vectors = definitions.transformed(value, output)
    everything = units(row, special=True)
    result = np.zeros((*weight.shape[:2], len(everything)))
    for head, query, number in np.ndindex(*result.shape):
        total = np.zeros(output.shape[2])
        for key in everything[number]:
            total += weight[head, query, key] * vectors[head, key]
        result[head, query, number] = definitions.length(total)
    return result


def lengths_of_merged_sums(weight: Array, value: Array, output: Array, row: list[int]) -> Array:
    """‖Σ_j Σ_h α_ij f_h(x_j)‖ over the pieces j of each unit."""
    vectors = definitions.transformed(value, output)
    everything = units(row, special=True)
    result = np.zeros((1, weight.shape[1], len(everything)))
    for _, query, number in np.ndindex(*result.shape):
        total = np.zeros(output.shape[2])
        for head, key in [(h, k) for h in range(len(weight)) for k in everything[number]]:
            total += weight[head, query, key] * vectors[head, key]
        result[0, query, number] = definitions.length(total)
    return result


def wanted_of(layer: Layer, between: list[Array], word: torch.Tensor, words: Words, special: bool):
    rows = word.tolist()
    return np.stack(
        [
            between_units(found, row, words.queries, special, words.width)
            for found, row in zip(between, rows, strict=True)
        ]
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    batches, sides, seeds, hows, st.booleans(), st.sampled_from([1, 2]), st.booleans(),
    st.sampled_from(DTYPES),
)  # fmt: skip
def test_norms_of_words(texts, side, seed, how, special, sharing, causal, dtype):
    word = padded(texts, side)
    layer = layer_of(word, seed, sharing, causal).to(dtype)
    words = Words.of(word, queries=how, special=special)
    scores = layer.scores()
    norms = layer.by_text(definitions.weighted_norm, "weight", "value", "output")
    rows = word.tolist()
    sums = [sums_over_keys(*each) for each in zip(norms, rows, strict=True)]
    keeps_promise(word_score(scores, "norm", words), wanted_of(layer, sums, word, words, special))
    lengths = [
        lengths_of_sums(wide(layer.weight[text]), wide(layer.value[text]), wide(layer.output), row)
        for text, row in enumerate(rows)
    ]
    keeps_promise(
        word_score(scores, "norm", words, pooling="vectors"),
        wanted_of(layer, lengths, word, words, special),
    )


@settings(max_examples=20, deadline=None)
@given(batches, sides, seeds, hows, st.booleans(), st.sampled_from(get_args(NormPooling)))
def test_weights_effective_weights_and_gradients_of_words(texts, side, seed, how, special, pooling):
    word = padded(texts, side)
    layer = layer_of(word, seed)
    words = Words.of(word, queries=how, special=special)
    record = layer.scores().record
    gradient = torch.randn(layer.weight.shape, generator=torch.Generator().manual_seed(seed))
    scores = Scores(replace(record, gradient=gradient))
    tokens = {
        "weight": wide(layer.weight),
        "effective": layer.by_text(definitions.effective, "weight", "value", "output", "seen"),
        "gradient": np.abs(wide(gradient)),
    }
    for measure, between in tokens.items():
        sums = [sums_over_keys(*each) for each in zip(between, word.tolist(), strict=True)]
        wanted = wanted_of(layer, sums, word, words, special)
        found = word_score(scores, measure, words, pooling=pooling)
        np.testing.assert_allclose(wide(found), wanted, rtol=0, atol=1e-6)


def merged_norms(weight: Array, value: Array, output: Array, row: list[int]) -> Array:
    return sums_over_keys(definitions.merged_norm(weight, value, output)[None], row)


def summed_norms(weight: Array, value: Array, output: Array, row: list[int]) -> Array:
    return sums_over_keys(definitions.weighted_norm(weight, value, output), row)


DEFINED = {
    ("norm", "norms"): summed_norms,
    ("norm", "vectors"): lengths_of_sums,
    ("merged_norm", "norms"): merged_norms,
    ("merged_norm", "vectors"): lengths_of_merged_sums,
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    pairs, sides, seeds, hows, st.booleans(), st.sampled_from([1, 2]),
    st.sampled_from(sorted(DEFINED)), st.sampled_from(DTYPES),
)  # fmt: skip
def test_norms_between_the_words_of_two_texts(both, side, seed, how, special, sharing, what, dtype):
    target = padded([pair[0] for pair in both], "right")
    source = padded([pair[1] for pair in both], side)
    layer = layer_of(source, seed, sharing, queries=target.shape[1]).to(dtype)
    pair = WordPair(Words.of(target, queries=how), Words.of(source, special=special))
    shape = (pair.attending.width, pair.attended.width)
    wanted = []
    for text, (row, column) in enumerate(zip(target.tolist(), source.tolist(), strict=True)):
        parts = wide(layer.weight[text]), wide(layer.value[text]), wide(layer.output)
        between = DEFINED[what](*parts, column)
        wanted.append(between_texts(between, (row, False), (column, special), how, shape))
    keeps_promise(word_score(layer.scores(), what[0], pair, what[1]), np.stack(wanted))


def two_pieces(first: list[float], second: list[float], weight: list[float]) -> Scores:
    """A word of two pieces that one head of size two reads; W^O is the identity."""
    value = torch.tensor([[first, second]], dtype=torch.float64)[None]
    alpha = torch.tensor([weight, weight], dtype=torch.float64)[None, None]
    return Layer(alpha, value[:, 0][:, None], torch.eye(2, dtype=torch.float64)[None]).scores()


@pytest.mark.parametrize(
    ("first", "second", "norms", "vectors"),
    [
        ([3.0, 0.0], [0.0, 4.0], 3.5, 2.5),  # a right angle: ½·3 + ½·4, and ½·5
        ([1.0, 0.0], [3.0, 0.0], 2.0, 2.0),  # one direction: nothing is lost
        ([0.0, 2.0], [0.0, -2.0], 2.0, 0.0),  # they cancel one another
    ],
)
def test_norms_and_vectors_by_hand(first, second, norms, vectors):
    scores = two_pieces(first, second, [0.5, 0.5])
    words = Words.of(torch.tensor([[0, 0]]))
    assert word_score(scores, "norm", words).item() == pytest.approx(norms)
    found = word_score(scores, "norm", words, pooling="vectors").item()
    assert found == pytest.approx(vectors, abs=1e-7)


@settings(max_examples=20, deadline=None)
@given(batches, sides, seeds, st.booleans())
def test_what_moves_is_never_more_than_its_parts(texts, side, seed, special):
    word = padded(texts, side)
    words = Words.of(word, special=special)
    scores = layer_of(word, seed).scores()
    norms = word_score(scores, "norm", words)
    vectors = word_score(scores, "norm", words, pooling="vectors")
    assert bool((vectors <= norms + 1e-12).all())
    single = (words.count == 1)[:, None, None].expand_as(norms)
    torch.testing.assert_close(vectors[single], norms[single], rtol=1e-12, atol=0)


def test_a_model_in_float32_gives_float32():
    word = torch.tensor([[-1, 0, 0, 1, -1]])
    scores = layer_of(word, 0).to(torch.float32).scores()
    for pooling in get_args(NormPooling):
        assert word_score(scores, "norm", Words.of(word), pooling).dtype == torch.float32


def test_refusals():
    word = torch.tensor([[-1, 0, 0, 1, -1]])
    scores, words = layer_of(word, 0).scores(), Words.of(word)
    with pytest.raises(UnknownNameError, match="no pooling of norms is called 'vector'"):
        word_score(scores, "norm", words, pooling="vector")
    with pytest.raises(UnknownNameError, match="no measure is called 'merged'"):
        word_score(scores, "merged", words)
