"""One text per example: nothing is lost without being counted."""

import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import Document
from headlight.encode import texts
from headlight.errors import CorpusError, UsageError

LONG = Document("a.txt:1", ("the sea is old", "the lake is full, the river is not"))
SHORT = Document("a.txt:9", ("the sea",))


def test_paragraphs_are_joined_by_a_blank(tokenizer):
    (example,) = texts([LONG], tokenizer, max_length=200)
    assert list(example.ids) == tokenizer(" ".join(LONG.paragraphs))["input_ids"]
    assert example.name == "a.txt:1"


def test_truncation_keeps_the_beginning_and_is_counted(bert):
    whole = bert(" ".join(LONG.paragraphs))["input_ids"]
    examples = texts([LONG, SHORT], bert, max_length=8)
    long, short = examples
    assert list(long.ids) == [*whole[:7], 3]
    assert list(short.ids) == bert("the sea")["input_ids"]
    counts = examples.counts
    assert (counts.documents, counts.examples, counts.truncated) == (2, 2, 1)
    assert counts.lost_tokens == len(whole) - 8


def test_windows_follow_each_other(tokenizer):
    whole = tokenizer(" ".join(LONG.paragraphs), add_special_tokens=False)["input_ids"]
    examples = texts([LONG], tokenizer, max_length=7, overflow="split")
    windows = list(examples)
    special = tokenizer.num_special_tokens_to_add()
    kept = [i for w in windows for i, word in zip(w.ids, w.words, strict=True) if word >= 0]
    assert kept == whole
    assert all(len(window.ids) == 7 for window in windows[:-1])
    assert len(windows) == -(-len(whole) // (7 - special))
    assert [window.name for window in windows][:2] == ["a.txt:1#0", "a.txt:1#1"]
    assert all(min(w for w in window.words if w >= 0) == 0 for window in windows)
    assert (examples.counts.split, examples.counts.truncated) == (1, 0)


def test_an_error_names_the_document(bert):
    examples = iter(texts([SHORT, LONG], bert, max_length=8, overflow="error"))
    next(examples)
    with pytest.raises(CorpusError, match=r"a\.txt:1: the document has \d+ tokens, more than 8"):
        next(examples)


def test_documents_without_tokens_are_counted(bert):
    examples = texts([Document("x", ("\u200d\u200b\x01",)), SHORT], bert, max_length=8)
    assert len(list(examples)) == 1
    assert examples.counts.empty == 1
    assert len(list(examples)) == 1, "it can be read again"
    assert examples.counts.empty == 1


def test_wrong_requests(bert):
    with pytest.raises(UsageError, match="Did you mean 'split'"):
        texts([SHORT], bert, max_length=8, overflow="splitt")
    with pytest.raises(UsageError, match="leaves no room"):
        texts([SHORT], bert, max_length=2)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), max_size=8), st.integers(3, 20))
def test_the_length_is_never_exceeded(tokenizers, sizes, max_length):
    documents = [Document(str(i), ("the sea, " * size,)) for i, size in enumerate(sizes)]
    for overflow in ("truncate", "split"):
        for tokenizer in tokenizers.values():
            for e in texts(documents, tokenizer, max_length=max_length, overflow=overflow):
                assert len(e.ids) <= max_length
                assert len(e.ids) == len(e.segments) == len(e.categories) == len(e.words)


def test_many_documents_keep_their_order(bert):
    documents = [Document(f"{i}", (f"the sea {'the lake ' * (i % 3)}",)) for i in range(1300)]
    assert [e.name for e in texts(documents, bert, max_length=16)] == [d.name for d in documents]
