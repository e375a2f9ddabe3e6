"""Words instead of pieces, against loops over one text and by hand."""

from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from torch import Tensor

from headlight.errors import UnknownNameError, UsageError
from headlight.pool import WordPair, Words
from headlight.vocabulary import QueryPooling
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


def weights(word: Tensor, seed: int, queries: int | None = None) -> Tensor:
    """As attention leaves them: rows sum to 1 over what is no padding; those of padding, too."""
    generator = torch.Generator().manual_seed(seed)
    texts, tokens = word.shape
    shape = (texts, 2, tokens if queries is None else queries, tokens)
    logits = torch.randn(shape, generator=generator).double() * 2
    return torch.softmax(logits.masked_fill((word == PADDING)[:, None, None], -1e30), dim=-1)


@settings(max_examples=60, deadline=None)
@given(batches, sides, seeds, hows, st.booleans(), st.booleans())
def test_words_are_pooled_as_by_loops(texts, side, seed, how, special, signed):
    word = padded(texts, side)
    words = Words.of(word, queries=how, special=special)
    score = weights(word, seed)
    if signed:
        score = score - score.mean(-1, keepdim=True)
    found = words.pool(score)
    width = max(len(units(row, special)) for row in word.tolist())
    assert found.shape == (len(texts), 2, width, width)
    for text, row in enumerate(word.tolist()):
        sums = sums_over_keys(score[text].numpy(), row)
        wanted = between_units(sums, row, how, special, width)
        np.testing.assert_allclose(found[text].numpy(), wanted, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(batches, sides, st.booleans())
def test_what_is_known_of_words(texts, side, special):
    word = padded(texts, side)
    words = Words.of(word, special=special)
    for text, row in enumerate(word.tolist()):
        wanted = units(row, special)
        sizes = [len(unit) for unit in wanted]
        missing = words.width - len(wanted)
        assert words.count[text].tolist() == sizes + [0] * missing
        assert words.present[text].tolist() == [True] * len(wanted) + [False] * missing
        for number, unit in enumerate(wanted):
            assert words.members[text, number].nonzero()[:, 0].tolist() == unit
            assert {int(words.unit[text, place]) for place in unit} == {number}


@settings(max_examples=30, deadline=None)
@given(batches, sides, seeds, hows)
def test_rows_of_weights_sum_to_one_with_special_tokens(texts, side, seed, how):
    word = padded(texts, side)
    words = Words.of(word, queries=how, special=True)
    sums = words.pool(weights(word, seed)).sum(-1)
    wanted = words.present[:, None].double().expand_as(sums)
    torch.testing.assert_close(sums, wanted, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(batches, sides, seeds, hows)
def test_without_special_tokens_it_is_the_same_cut_out(texts, side, seed, how):
    word = padded(texts, side)
    score = weights(word, seed)
    cut = Words.of(word, queries=how).pool(score)
    whole = Words.of(word, queries=how, special=True).pool(score)
    for text, row in enumerate(word.tolist()):
        kept = [n for n, unit in enumerate(units(row, special=True)) if row[unit[0]] >= 0]
        wanted = whole[text][:, kept][..., kept]
        found = cut[text, :, : len(kept), : len(kept)]
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(batches, sides, seeds, hows, st.booleans())
@example([[-1, 0, 1, -1], [-1, 0, 0, 1, -1]], "right", 0, "mean", False)
def test_the_rest_of_the_batch_changes_nothing(texts, side, seed, how, special):
    """Whatever padding gives, and whether another text has words of several pieces."""
    word = padded(texts, side)
    score = weights(word, seed)
    found = Words.of(word, queries=how, special=special).pool(score)
    real = word[0] != PADDING
    if not bool(real.any()):
        return
    alone = Words.of(word[:1, real], queries=how, special=special)
    wanted = alone.pool(score[:1, :, real][..., real])
    size = alone.width
    torch.testing.assert_close(found[:1, :, :size, :size], wanted, rtol=0, atol=1e-12)
    assert not found[0, :, size:].any()
    assert not found[0, :, :, size:].any()


BY_HAND = torch.tensor(
    [
        [0.50, 0.10, 0.20, 0.10, 0.10],  # [CLS]
        [0.10, 0.20, 0.30, 0.20, 0.20],  # un
        [0.30, 0.00, 0.10, 0.50, 0.10],  # ##do
        [0.00, 0.25, 0.25, 0.40, 0.10],  # it
        [0.20, 0.20, 0.20, 0.20, 0.20],  # [SEP]
    ]
)[None, None]


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("mean", [[0.20, 0.30, 0.35, 0.15], [0.00, 0.50, 0.40, 0.10]]),
        ("first", [[0.10, 0.50, 0.20, 0.20], [0.00, 0.50, 0.40, 0.10]]),
        # The larger of each: 0.3, 0.5, 0.5, 0.2, which sum to 1.5.
        ("max", [[0.20, 1 / 3, 1 / 3, 0.4 / 3], [0.00, 0.50, 0.40, 0.10]]),
    ],
)
def test_three_words_by_hand(how, wanted):
    word = torch.tensor([[-1, 0, 0, 1, -1]])
    found = Words.of(word, queries=how, special=True).pool(BY_HAND)[0, 0]
    torch.testing.assert_close(found[1:3], torch.tensor(wanted))
    assert found[0].tolist() == pytest.approx([0.5, 0.3, 0.1, 0.1])
    without = Words.of(word, queries=how).pool(BY_HAND)[0, 0]
    torch.testing.assert_close(without, torch.tensor(wanted)[:, 1:3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("how", get_args(QueryPooling))
@pytest.mark.parametrize("text", [[-1, 0, 0, 1, -1], [-1, 0, 1, 2, -1]])
def test_pooling_keeps_the_precision_of_the_score(dtype, how, text):
    found = Words.of(torch.tensor([text]), queries=how).pool(BY_HAND.to(dtype))
    assert found.dtype == dtype


def test_a_word_without_pieces_is_not_there():
    """Running text may have words that the tokenizer drops: their numbers are missing."""
    words = Words.of(torch.tensor([[-1, 0, 2, 2, -1]]))
    assert words.present.tolist() == [[True, False, True]]
    found = words.pool(BY_HAND)[0, 0]
    assert not found[1].any()
    assert not found[:, 1].any()
    assert found[0].tolist() == pytest.approx([0.2, 0.0, 0.5])


def test_special_tokens_alone():
    words = Words.of(torch.tensor([[-1, -1]]))
    assert words.pool(BY_HAND[..., :2, :2]).shape == (1, 1, 0, 0)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(pairs, sides, seeds, hows, st.booleans(), st.booleans())
def test_words_of_two_texts_are_pooled_as_by_loops(both, side, seed, how, attending, attended):
    target = padded([pair[0] for pair in both], "right")
    source = padded([pair[1] for pair in both], side)
    pair = WordPair(
        Words.of(target, queries=how, special=attending), Words.of(source, special=attended)
    )
    score = weights(source, seed, queries=target.shape[1])
    found = pair.pool(score)
    shape = (pair.attending.width, pair.attended.width)
    assert found.shape == (len(target), 2, *shape)
    for text, (row, column) in enumerate(zip(target.tolist(), source.tolist(), strict=True)):
        sums = sums_over_keys(score[text].numpy(), column)
        wanted = between_texts(sums, (row, attending), (column, attended), how, shape)
        np.testing.assert_allclose(found[text].numpy(), wanted, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(batches, sides, seeds, hows, st.booleans())
def test_a_text_and_itself_are_two_texts(texts, side, seed, how, special):
    word = padded(texts, side)
    words = Words.of(word, queries=how, special=special)
    score = weights(word, seed)
    found = WordPair(words, words).pool(score)
    torch.testing.assert_close(found, words.pool(score), rtol=0, atol=1e-12)


CROSS_BY_HAND = torch.tensor(
    [
        [0.10, 0.10, 0.20, 0.60],  # <pad>, with which the decoder begins
        [0.40, 0.20, 0.10, 0.30],  # the
        [0.00, 0.10, 0.70, 0.20],  # hou
        [0.20, 0.10, 0.10, 0.60],  # ##se
        [0.25, 0.25, 0.25, 0.25],  # .
    ]
)[None, None]
"""To das, Hau, ##s and </s>."""


def test_cross_attention_by_hand():
    target, source = torch.tensor([[-1, 0, 1, 1, 2]]), torch.tensor([[0, 1, 1, -1]])
    pair = WordPair(Words.of(target), Words.of(source, special=True))
    wanted = [[0.40, 0.30, 0.30], [0.10, 0.50, 0.40], [0.25, 0.50, 0.25]]
    torch.testing.assert_close(pair.pool(CROSS_BY_HAND)[0, 0], torch.tensor(wanted))
    assert pair.attended.number.tolist() == [[0, 1, -1]]
    assert pair.attending.number.tolist() == [[0, 1, 2]]
    assert pair.count.tolist() == [[1, 2, 1]]


def test_numbers_of_units():
    word = torch.tensor([[-1, 0, 2, 2, -1], [-1, 0, -1, -2, -2]])
    assert Words.of(word, special=True).number.tolist() == [[-1, 0, 2, -1], [-1, 0, -1, -2]]
    assert Words.of(word).number.tolist() == [[0, -2, 2], [0, -2, -2]]


def test_refusals():
    word = torch.tensor([[-1, 0, 0, 1, -1]])
    with pytest.raises(UnknownNameError, match="no way of joining the queries of a word is called"):
        Words.of(word, queries="last")
    for numbers in (word, torch.tensor([[-1, 0, 1, 2, -1]])):
        with pytest.raises(UsageError, match="have 4 keys, and the words are of 5 tokens; give"):
            Words.of(numbers).pool(BY_HAND[..., :4])
        with pytest.raises(UsageError, match="have 4 queries, and the words are of 5 tokens; give"):
            Words.of(numbers).pool(BY_HAND[..., :4, :])
    pair = WordPair(Words.of(word), Words.of(word[:, :4]))
    with pytest.raises(UsageError, match="have 5 keys, and the words are of 4 tokens; give"):
        pair.pool(BY_HAND)


@pytest.mark.parametrize("how", ["mean", "first", "max"])
def test_a_text_without_words_has_no_rows_and_no_columns(how):
    words = Words.of(torch.tensor([[-1, -1]]), queries=how)
    assert words.pool(torch.rand(1, 3, 2, 2)).shape == (1, 3, 0, 0)
