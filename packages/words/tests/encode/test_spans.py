"""Windows of documents: whole words, every word somewhere, and as much overlap as was asked for."""

import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import Sentence
from headlight.errors import CorpusError, UnknownNameError, UsageError
from headlight_words.corpora import CoreferenceDocument
from headlight_words.encode.spans import EncodedSpan, documents

LONG = 10_000


def windows(document, tokenizer, **limits):
    """The examples of one document."""
    return list(documents([document], tokenizer, **limits))


def document(*sentences, name="novel.conll:wind"):
    found = tuple(
        Sentence(f"novel.conll:{10 * number}", tuple(words))
        for number, words in enumerate(sentences, start=1)
    )
    return CoreferenceDocument(name, found, ())


WIND = document(["the", "lake", "is"], ["the", "sea"], ["sand", "and", "lake"])
"""Tokens: the l a k e is | the sea | sand and l a k e, and so 1 4 1 1 1 1 1 4."""


def seen(spans):
    return [(span.name, span.first, span.kept) for span in spans]


def test_the_beginning_of_a_document(bert):
    (whole,) = windows(WIND, bert, max_length=LONG)
    assert isinstance(whole, EncodedSpan)
    assert whole.document is WIND
    assert (whole.name, whole.first, whole.kept) == ("novel.conll:wind", 0, 8)
    assert list(whole.ids) == bert(" ".join(WIND.words))["input_ids"]
    assert whole.words == (-1, 0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, -1)
    for max_length, kept in ((16, 8), (15, 7), (12, 7), (11, 6), (6, 1), (3, 1)):
        (span,) = windows(WIND, bert, max_length=max_length)
        assert (span.first, span.kept) == (0, kept)
        assert span.words == (-1, *[word for word in whole.words if 0 <= word < kept], -1)


@pytest.mark.parametrize(
    ("overlap", "wanted"),
    [
        (0, [(0, 3), (3, 4), (7, 1)]),
        (1, [(0, 3), (2, 5), (6, 2)]),
        (2, [(0, 3), (1, 3), (2, 5), (5, 3)]),
        (9, [(0, 3), (1, 3), (2, 5), (5, 3)]),  # fewer than nine: a new word has to fit
    ],
)
def test_windows_by_hand(bert, overlap, wanted):
    spans = windows(WIND, bert, max_length=8, overlap=overlap)
    names = [f"novel.conll:wind#{number}" for number in range(len(wanted))]
    assert seen(spans) == [(name, *place) for name, place in zip(names, wanted, strict=True)]
    assert spans[-1].words[1] == 0, "words are counted within the window"


def test_a_document_that_fits_is_one_window(bert):
    assert seen(windows(WIND, bert, max_length=16, overlap=3)) == [("novel.conll:wind", 0, 8)]


@settings(max_examples=80, deadline=None)
@given(
    words=st.lists(st.sampled_from(["the", "sea", "lake", "is", "n't"]), min_size=1, max_size=20),
    room=st.integers(5, 12),
    overlap=st.integers(0, 12),
    kind=st.sampled_from(["bert", "gpt2"]),
)
def test_windows_cover_and_overlap(tokenizers, words, room, overlap, kind):
    tokenizer = tokenizers[kind]
    (whole,) = windows(document(words), tokenizer, max_length=LONG)
    special = whole.words.count(-1)
    spans = windows(document(words), tokenizer, max_length=room + special, overlap=overlap)
    stops = [span.first + span.kept for span in spans]
    size = [whole.words.count(number) for number in range(len(words))]
    assert (spans[0].first, stops[-1]) == (0, len(words))
    for span, stop in zip(spans, stops, strict=True):
        inside = [
            (token, word - span.first)
            for token, word in zip(whole.ids, whole.words, strict=True)
            if span.first <= word < stop
        ]
        own = zip(span.ids, span.words, strict=True)
        assert [(token, word) for token, word in own if word >= 0] == inside
        assert sum(size[span.first : stop]) <= room
        assert stop == len(words) or sum(size[span.first : stop + 1]) > room, "as many as fit"
    for before, after, stop in zip(spans, spans[1:], stops, strict=False):
        assert before.first < after.first <= stop < after.first + after.kept
        shared = stop - after.first
        assert shared <= overlap
        more = sum(size[max(after.first - 1, 0) : stop + 1])
        assert shared == overlap or more > room, "more only where the next word would not fit"


def test_what_is_counted(bert):
    cut = documents([WIND, document(["the"]), document()], bert, max_length=8)
    assert len(list(cut)) == 2
    counts = cut.counts
    assert (counts.documents, counts.empty, counts.truncated, counts.lost_tokens) == (3, 1, 1, 8)
    assert counts.split == 0
    split = documents([WIND, document(["the"])], bert, max_length=8, overlap=1)
    assert len(list(split)) == 4
    assert (split.counts.split, split.counts.truncated, split.counts.lost_tokens) == (1, 0, 0)


def test_a_word_without_a_token_is_named_by_its_sentence(bert):
    bad = document(["the", "lake"], ["the", "\x01", "sea"])
    with pytest.raises(CorpusError, match=r"^novel\.conll:20: word 2, '\\x01', gets no token"):
        windows(bad, bert, max_length=LONG)
    with pytest.raises(CorpusError, match=r"^novel\.conll:20: word 2"):
        windows(bad, bert, max_length=8, overlap=0)
    (beginning,) = windows(bad, bert, max_length=7)
    assert beginning.kept == 2, "what is cut off is not looked at"
    skipped = documents([bad, WIND], bert, max_length=LONG, unencodable="skip")
    assert [span.document for span in skipped] == [WIND]
    assert skipped.counts.unencodable == 1


@pytest.mark.parametrize("overlap", [0, 1, 5])
def test_a_word_that_fits_nowhere(bert, overlap):
    text = document(["the", "sea", "lake", "is"])
    with pytest.raises(CorpusError, match="word 3, 'lake', has 4 tokens and does not fit into an"):
        windows(text, bert, max_length=5, overlap=overlap)
    (beginning,) = windows(text, bert, max_length=5)
    assert beginning.kept == 2
    with pytest.raises(CorpusError, match="word 1, 'lake', has 4 tokens"):
        windows(document(["lake"]), bert, max_length=5)


def test_refusals(bert):
    with pytest.raises(UsageError, match="at least 0, not -1"):
        windows(WIND, bert, max_length=8, overlap=-1)
    with pytest.raises(UsageError, match="leaves no room"):
        documents([], bert, max_length=2)
    with pytest.raises(UnknownNameError, match="no way of dealing with words without a token"):
        documents([], bert, max_length=8, unencodable="drop")
