"""Sentences that come as words: each piece to its word, and whole words where not all fit."""

from itertools import count, islice

import pytest
from hypothesis import given, settings, strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headlight.corpora import Sentence
from headlight.encode import EncodedSentence, sentences
from headlight.errors import CorpusError, UnknownNameError, UsageError

KINDS = ["bert", "roberta", "gpt2", "t5"]
LONG = 10_000


def sentence(*words, line=1):
    return Sentence(f"dev.conllu:{line}", words)


def encoded(tokenizer, *words, max_length=LONG, **options):
    (example,) = sentences([sentence(*words)], tokenizer, max_length=max_length, **options)
    return example


def by_word(tokenizer, example):
    """The tokens of each word."""
    tokens = tokenizer.convert_ids_to_tokens(list(example.ids))
    return [
        [token for token, word in zip(tokens, example.words, strict=True) if word == number]
        for number in range(example.kept)
    ]


def owners_by_loop(words, offsets):
    """The word of the first character at or after the beginning of each piece; else the last."""
    owner = []
    for number, word in enumerate(words):
        owner += [number] * len(word) + [None]
    result = []
    for start, _ in offsets:
        later = [number for number in owner[start:] if number is not None]
        result.append(later[0] if later else len(words) - 1)
    return result


word_texts = st.text(st.sampled_from("the sea,.n'é🜨ß1"), min_size=1, max_size=6).filter(
    lambda word: word == word.strip()
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50, deadline=None)
@given(words=st.lists(word_texts, min_size=1, max_size=8))
def test_pieces_against_a_loop_over_characters(tokenizers, kind, words):
    tokenizer = tokenizers[kind]
    example = encoded(tokenizer, *words)
    text = " ".join(words)
    assert list(example.ids) == tokenizer(text)["input_ids"]
    theirs = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    inside = [word for word in example.words if word >= 0]
    assert inside == owners_by_loop(words, theirs["offset_mapping"])
    assert set(inside) == set(range(len(words)))
    assert example.kept == len(words)


def test_pieces_by_hand(tokenizers):
    words = ("the", "1 000", "se🜨a", "do", "n't", ".")
    assert by_word(tokenizers["bert"], encoded(tokenizers["bert"], *words)) == [
        ["the"], ["[UNK]", "[UNK]"], ["[UNK]"], ["d", "##o"], ["n", "'", "t"], ["."],
    ]  # fmt: skip
    found = by_word(tokenizers["gpt2"], encoded(tokenizers["gpt2"], *words))
    assert ["".join(tokens) for tokens in found] == [
        "the", "Ġ1Ġ000", "ĠseðŁľ¨a", "Ġdo", "Ġn't", "Ġ.",
    ]  # fmt: skip
    found = by_word(tokenizers["t5"], encoded(tokenizers["t5"], "the", "sea", "."))
    assert ["".join(tokens) for tokens in found] == ["▁the", "▁sea", "▁."]


def test_an_example_remembers_its_sentence(bert):
    one = sentence("the", "sea", line=7)
    (example,) = sentences([one], bert, max_length=8)
    assert isinstance(example, EncodedSentence)
    assert example.sentence is one
    assert example.name == "dev.conllu:7"
    assert example.words == (-1, 0, 1, -1)
    assert len(example.ids) == len(example.segments) == len(example.categories) == 4


DROPPED = {
    "bert": ["\x01", "\u200b", "\u0301", "", " ", "\ud800"],
    "gpt2": ["", "\ud800"],
    "t5": ["", "\ud800"],
}


@pytest.mark.parametrize(("kind", "word"), [(k, w) for k, words in DROPPED.items() for w in words])
def test_a_word_without_a_token(tokenizers, kind, word):
    bad, good = sentence("the", word, "sea", line=3), sentence("the", "sea", line=8)
    with pytest.raises(CorpusError) as refused:
        list(sentences([good, bad], tokenizers[kind], max_length=LONG))
    assert str(refused.value).startswith(
        f"dev.conllu:3: word 2, {word!r}, gets no token from the tokenizer; "
    )
    examples = sentences([bad, good, bad], tokenizers[kind], max_length=LONG, unencodable="skip")
    assert [example.name for example in examples] == ["dev.conllu:8"]
    counts = examples.counts
    assert (counts.documents, counts.examples, counts.unencodable) == (3, 1, 2)


@pytest.mark.parametrize("place", [0, 2])
def test_a_word_without_a_token_at_the_edge(bert, place):
    words = ["the", "sea"]
    words.insert(place, "\x01")
    with pytest.raises(CorpusError, match=rf"word {place + 1}, '\\x01', gets no token"):
        encoded(bert, *words)


def test_a_token_of_two_words():
    vocabulary = {"?": 0, "new york": 1, "york": 2}
    model = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))  # nothing is split first
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model)
    assert encoded(tokenizer, "new york").words == (0,)
    with pytest.raises(CorpusError, match=r"word 1, 'new', shares a token with the next word;"):
        encoded(tokenizer, "new", "york")
    skipped = sentences([sentence("new", "york")], tokenizer, max_length=9, unencodable="skip")
    assert list(skipped) == []
    assert skipped.counts.unencodable == 1


def test_a_token_that_ends_in_the_blank_is_that_of_one_word():
    vocabulary = {"?": 0, "new ": 1, "york": 2}
    model = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    model.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model)
    example = encoded(tokenizer, "new", "york")
    assert (example.ids, example.words) == ((1, 2), (0, 1))


def test_what_does_not_fit(bert):
    """[CLS] the l a k e sea [SEP]: the second word has four pieces."""
    words = ("the", "lake", "sea")
    fits, too_long = sentence("the", "sea", line=1), sentence(*words, line=2)
    skipped = sentences([fits, too_long], bert, max_length=7)
    assert [example.name for example in skipped] == ["dev.conllu:1"]
    assert (skipped.counts.too_long, skipped.counts.documents) == (1, 2)
    with pytest.raises(CorpusError, match=r"dev\.conllu:2: the sentence has 8 tokens, more than 7"):
        list(sentences([fits, too_long], bert, max_length=7, overflow="error"))
    assert encoded(bert, *words, max_length=8).kept == 3


@pytest.mark.parametrize(
    ("max_length", "kept", "lost"), [(8, 3, 0), (7, 2, 1), (6, 1, 5), (5, 1, 5), (3, 1, 5)]
)
def test_whole_words_are_kept(bert, max_length, kept, lost):
    one = sentence("the", "lake", "sea")
    examples = sentences([one], bert, max_length=max_length, overflow="truncate")
    (example,) = examples
    assert example.kept == kept
    assert len(example.ids) == 2 + 6 - lost
    assert example.ids[-1] == bert.sep_token_id
    assert max(example.words) == kept - 1
    assert example.sentence is one
    assert (examples.counts.truncated, examples.counts.lost_tokens) == (lost > 0, lost)


def test_not_even_the_first_word_fits(bert):
    examples = sentences([sentence("lake")], bert, max_length=5, overflow="truncate")
    assert list(examples) == []
    assert (examples.counts.too_long, examples.counts.truncated) == (1, 0)


def test_a_word_that_is_cut_off_need_not_be_encodable(bert):
    example = encoded(bert, "the", "lake", "\x01", max_length=5, overflow="truncate")
    assert example.kept == 1
    with pytest.raises(CorpusError, match="word 3"):
        encoded(bert, "the", "lake", "\x01", max_length=7, overflow="truncate")


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.sampled_from(["the", "sea", "lake", "n't", "1 000"]), min_size=1, max_size=9),
    max_length=st.integers(3, 30),
    kind=st.sampled_from(["bert", "gpt2"]),
)
def test_as_many_words_as_fit(tokenizers, words, max_length, kind):
    tokenizer = tokenizers[kind]
    whole = encoded(tokenizer, *words)
    special = whole.words.count(-1)
    ends = [sum(0 <= word <= number for word in whole.words) for number in range(len(words))]
    wanted = sum(end + special <= max_length for end in ends)
    found = list(
        sentences([sentence(*words)], tokenizer, max_length=max_length, overflow="truncate")
    )
    assert [example.kept for example in found] == [wanted] * bool(wanted)
    for example in found:
        inside = [i for i, w in zip(example.ids, example.words, strict=True) if w >= 0]
        assert inside == [i for i, w in zip(whole.ids, whole.words, strict=True) if 0 <= w < wanted]
        assert len(example.ids) <= max_length


def test_a_sentence_without_words_is_left_out(bert):
    examples = sentences([sentence(), sentence("the")], bert, max_length=8)
    assert [example.kept for example in examples] == [1]
    assert (examples.counts.empty, examples.counts.documents) == (1, 2)


def test_sentences_are_read_as_they_are_needed(bert):
    endless = (sentence("the", "sea", line=line) for line in count())
    names = [example.name for example in islice(sentences(endless, bert, max_length=8), 3)]
    assert names == ["dev.conllu:0", "dev.conllu:1", "dev.conllu:2"]


def test_examples_can_be_made_again_and_in_any_groups(tokenizer, monkeypatch):
    texts = [sentence(*["the", "lake", "sea", "n't"][: n % 5], line=n) for n in range(30)]
    examples = sentences(texts, tokenizer, max_length=LONG)
    once = list(examples)
    counts = examples.counts
    monkeypatch.setattr("headlight.encode.examples.AT_ONCE", 1)
    assert list(examples) == once
    assert examples.counts == counts
    assert len(once) == 24


def test_refusals(bert):
    with pytest.raises(UnknownNameError, match="no way of dealing with long sentences is called"):
        sentences([], bert, max_length=8, overflow="split")
    with pytest.raises(UnknownNameError, match="no way of dealing with words without a token"):
        sentences([], bert, max_length=8, unencodable="drop")
    with pytest.raises(UsageError, match="a length of 2 leaves no room for text beside 2 special"):
        sentences([], bert, max_length=2)
