"""Sentence pairs as examples: two segments, and what is cut off where they do not fit."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from encode.small_tokenizers import wordpiece
from headlight.corpora import SentencePair
from headlight.encode import sentence_pairs
from headlight.errors import CorpusError, UnknownNameError, UsageError

PAIR = SentencePair("a.tsv:2", "the sea is old.", "the river is not", "1")
SINGLE = SentencePair("a.tsv:3", "the sea", None, None)
NOTHING = SentencePair("a.tsv:4", "the sea", "\u200d\x01", None)
BERT = wordpiece()


def popped(first: int, second: int, room: int) -> tuple[int, int]:
    """How many pieces of each BERT's own code keeps: it takes them away one by one."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


def test_a_pair_is_put_together_as_the_tokenizer_does(tokenizer):
    (example,) = sentence_pairs([PAIR], tokenizer, max_length=200)
    expected = tokenizer(PAIR.first, PAIR.second, return_token_type_ids=True)
    assert list(example.ids) == expected["input_ids"]
    assert list(example.segments) == expected["token_type_ids"]
    assert example.name == "a.tsv:2"


def test_a_single_sentence_is_one_segment(tokenizer):
    (example,) = sentence_pairs([SINGLE], tokenizer, max_length=200)
    assert list(example.ids) == tokenizer(SINGLE.first)["input_ids"]
    assert set(example.segments) == {0}


def test_words_are_counted_through_both_sentences():
    (example,) = sentence_pairs([PAIR], BERT, max_length=200)
    assert sorted(set(example.words)) == list(range(-1, 8))
    assert len(example.words) == len(example.ids) == len(example.categories)


@settings(max_examples=80, deadline=None)
@given(first=st.integers(1, 12), second=st.integers(1, 12), length=st.integers(5, 30))
def test_the_longer_sentence_is_cut_as_bert_does(first, second, length):
    pair = SentencePair("x", " ".join(["the"] * first), " ".join(["sea"] * second), None)
    examples = sentence_pairs([pair], BERT, max_length=length)
    (example,) = examples
    ones, twos = popped(first, second, length - 3)
    the, sea = (BERT.convert_tokens_to_ids(word) for word in ("the", "sea"))
    assert (example.ids.count(the), example.ids.count(sea)) == (ones, twos)
    assert list(example.ids) == [2, *[the] * ones, 3, *[sea] * twos, 3]
    assert list(example.segments) == [0] * (ones + 2) + [1] * (twos + 1)
    assert examples.counts.lost_tokens == first + second - ones - twos
    assert examples.counts.truncated == (first + second > length - 3)


def test_a_single_sentence_is_cut_at_its_end():
    single = SentencePair("x", "the the the the sea", None, None)
    examples = sentence_pairs([single], BERT, max_length=5)
    (example,) = examples
    assert list(example.ids) == [2, *[BERT.convert_tokens_to_ids("the")] * 3, 3]
    assert (examples.counts.truncated, examples.counts.lost_tokens) == (1, 2)


def test_what_does_not_fit_is_left_out_or_refused():
    examples = sentence_pairs([PAIR, SINGLE], BERT, max_length=8, overflow="skip")
    assert [example.name for example in examples] == ["a.tsv:3"]
    assert (examples.counts.too_long, examples.counts.examples) == (1, 1)
    with pytest.raises(CorpusError, match=r"a\.tsv:2: the sentences have \d+ tokens more"):
        list(sentence_pairs([SINGLE, PAIR], BERT, max_length=8, overflow="error"))


def test_sentences_without_tokens_are_counted():
    examples = sentence_pairs([NOTHING, PAIR, SINGLE], BERT, max_length=50)
    for _ in range(2):
        assert [example.name for example in examples] == ["a.tsv:2", "a.tsv:3"]
        assert (examples.counts.documents, examples.counts.empty) == (3, 1)


@pytest.mark.slow
def test_seconds_stay_with_their_firsts():
    pairs = [PAIR, SINGLE, SentencePair("b", "sand", "the river", None), SINGLE, PAIR] * 200
    made = list(sentence_pairs(pairs, BERT, max_length=50))
    alone = {pair.name: next(iter(sentence_pairs([pair], BERT, max_length=50))) for pair in pairs}
    assert [replace(each, origin=None, unit=0) for each in made] == [
        replace(alone[pair.name], origin=None, unit=0) for pair in pairs
    ]


def test_the_second_sentence_goes_to_a_decoder():
    (example,) = sentence_pairs([PAIR], BERT, max_length=6, decoder_start=2)
    first, second = (BERT(text)["input_ids"] for text in (PAIR.first, PAIR.second))
    assert list(example.ids) == [*first[:5], 3]
    assert example.target[0] == 2
    assert list(example.target[1:]) == second[:5]
    with pytest.raises(CorpusError, match=r"a\.tsv:3: there is only one sentence"):
        list(sentence_pairs([SINGLE], BERT, max_length=6, decoder_start=2))


def test_wrong_requests():
    with pytest.raises(UnknownNameError, match="truncate"):
        sentence_pairs([PAIR], BERT, max_length=9, overflow="trunctate")
    for length in (2, 4):
        with pytest.raises(UsageError, match="leaves no room"):
            sentence_pairs([PAIR], BERT, max_length=length)
