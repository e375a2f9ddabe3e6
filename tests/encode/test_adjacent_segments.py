"""Clark's preprocessing, against an example worked by hand and against its properties."""

import os
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headlight.corpora import Document, open_corpus
from headlight.encode import adjacent_segments
from headlight.errors import UsageError

# In the small vocabulary every one of these words is a single piece.
WORDS = ["the", "sea", "is", "and", "sand", "river"]


def unit(bert, size, offset=0):
    text = " ".join(WORDS[(offset + i) % len(WORDS)] for i in range(size))
    assert len(bert(text, add_special_tokens=False)["input_ids"]) == size
    return text


def document(bert, *sizes, name="d"):
    return Document(name, tuple(unit(bert, size, i) for i, size in enumerate(sizes)))


def bodies(example):
    """The ids of both segments of a BERT example."""
    ids = list(example.ids)
    middle = ids.index(3)
    assert (ids[0], ids[-1], ids.count(3)) == (2, 3, 2)
    return ids[1:middle], ids[middle + 1 : -1]


def test_worked_by_hand(bert):
    """Room for 10: units of 4, 4, 3 make a chunk (11 > 10), 2 and 5 the next (7, the end).

    The first chunk loses one token, of its longer segment; the second is whole.
    """
    examples = adjacent_segments([document(bert, 4, 4, 3, 2, 5)], bert, length=13)
    one, two = examples
    first, second = bodies(one)
    assert sorted((len(first), len(second))) in ([4, 6], [3, 7])
    units = [bert(unit(bert, n, i), add_special_tokens=False)["input_ids"]
             for i, n in enumerate((4, 4, 3, 2, 5))]  # fmt: skip
    cuts = {1: (units[0], units[1] + units[2]), 2: (units[0] + units[1], units[2])}
    whole = cuts[1] if len(first) == 4 else cuts[2]
    longer = max(whole, key=len)
    shortened = max((first, second), key=len)
    assert shortened in (longer[1:], longer[:-1])
    assert bodies(two) == (units[3], units[4])
    assert list(two.segments) == [0] * 4 + [1] * 6
    assert (one.name, two.name) == ("d#0", "d#1")
    counts = examples.counts
    assert (counts.examples, counts.truncated, counts.lost_tokens) == (2, 1, 1)
    assert counts.discarded == 0


def test_equally_long_segments_lose_from_the_second_first(bert):
    for seed in range(20):
        ((first, second),) = map(
            bodies, adjacent_segments([document(bert, 6, 6)], bert, length=12, seed=seed)
        )
        assert (len(first), len(second)) == (5, 4)


def test_a_long_paragraph_waits_for_the_next_or_ends_its_document(bert):
    text = document(bert, 3, 9, 12, 4, 5, 6)  # room for 10: [3, 9], then 12 alone
    joined = list(adjacent_segments([text], bert, length=13))
    assert [tuple(map(len, bodies(e))) for e in joined] == [(3, 7), (6, 4), (5, 5)]
    examples = adjacent_segments([text], bert, length=13, lone_units="discard")
    discarded = list(examples)
    assert discarded == joined[:1], "the same up to where the document is given up"
    assert (examples.counts.discarded, examples.counts.discarded_tokens) == (1, 12 + 4 + 5 + 6)


def test_a_last_unit_left_alone_is_discarded(bert):
    examples = adjacent_segments([document(bert, 5, 5, 3), document(bert, 7)], bert, length=13)
    assert len(list(examples)) == 1
    assert (examples.counts.discarded, examples.counts.discarded_tokens) == (2, 3 + 7)


def test_paragraphs_of_a_hundred_words_give_adjacent_pairs(bert):
    """The usual encyclopedia text: every example is made of two consecutive paragraphs."""
    sizes = [84, 110, 97, 131, 88, 105]
    text = Document("d", tuple(" ".join([word] * n) for word, n in zip(WORDS, sizes, strict=True)))
    ids = bert.convert_tokens_to_ids(WORDS)
    examples = list(adjacent_segments([text], bert))
    assert [tuple(map(set, bodies(example))) for example in examples] == [
        ({ids[0]}, {ids[1]}), ({ids[2]}, {ids[3]}), ({ids[4]}, {ids[5]}),
    ]  # fmt: skip
    assert all(len(example.ids) == 128 for example in examples)


def is_run(part, whole):
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 14), min_size=1, max_size=8), max_size=5),
    st.integers(5, 24), st.integers(0, 3), st.sampled_from(["join", "discard"]),
)  # fmt: skip
def test_only_true_continuations_that_fit(tokenizers, sizes, length, seed, lone):
    bert = tokenizers["bert"]
    documents = [document(bert, *s, name=str(i)) for i, s in enumerate(sizes)]
    examples = adjacent_segments(documents, bert, length=length, seed=seed, lone_units=lone)
    for example in examples:
        assert len(example.ids) <= length
        source = documents[int(example.name.split("#")[0])]
        units = [bert(u, add_special_tokens=False)["input_ids"] for u in source.paragraphs]
        first, second = bodies(example)
        assert first
        assert second
        assert any(
            is_run(first, [*chain(*units[:cut])]) and is_run(second, [*chain(*units[cut:])])
            for cut in range(1, len(units))
        )
        words = [word for word in example.words if word >= 0]
        assert words == list(range(len(words))), "one piece per word here"
    counts = examples.counts
    assert counts.documents == len(documents)


@pytest.mark.slow
def test_an_example_does_not_depend_on_what_was_read_before(bert):
    rng = np.random.default_rng(5)
    documents = [
        document(bert, *rng.integers(1, 60, size=rng.integers(1, 9)), name=str(i))
        for i in range(300)
    ]
    examples = adjacent_segments(documents, bert, length=48, seed=7)
    everything = list(examples)
    assert everything == list(examples)
    assert list(islice(examples, 50)) == everything[:50]
    # The same documents in groups of another size are still the same examples.
    later = iter(examples)
    for _ in range(100):
        next(later)
    assert list(later) == everything[100:]
    assert everything != list(adjacent_segments(documents, bert, length=48, seed=8))


def test_the_size_of_groups_changes_nothing(bert, monkeypatch):
    documents = [document(bert, 9, 30, 7, 8, 40, 3, name=str(i)) for i in range(20)]
    expected = list(adjacent_segments(documents, bert, length=32))
    monkeypatch.setattr("headlight.encode.examples.AT_ONCE", 1)
    assert list(adjacent_segments(documents, bert, length=32)) == expected


def test_cuts_and_ends_are_drawn_evenly(bert):
    """Of 3 units the first cut comes half the time; each end loses about half of the tokens."""
    texts = [document(bert, 4, 4, 4, name=str(i)) for i in range(600)]
    lengths = [len(bodies(e)[0]) for e in adjacent_segments(texts, bert, length=64)]
    assert 0.4 < np.mean(np.equal(lengths, 4)) < 0.6
    numbered = Document("n", tuple(" ".join([w] * 20) for w in WORDS[:2]))
    marked = Document("m", ("sea " + numbered.paragraphs[0][4:], numbered.paragraphs[1]))
    sea = bert.convert_tokens_to_ids("sea")
    kept = [bodies(e)[0][0] == sea for e in adjacent_segments([marked] * 600, bert, length=41)]
    assert 0.38 < np.mean(kept) < 0.62, "one token lost of the first segment, from either end"


def test_segment_ids_of_zero(bert):
    plain = list(adjacent_segments([document(bert, 5, 6)], bert))
    (zeros,) = adjacent_segments([document(bert, 5, 6)], bert, segment_ids="zeros")
    assert set(zeros.segments) == {0}
    assert zeros.ids == plain[0].ids
    assert set(plain[0].segments) == {0, 1}


def test_the_tokenizers_own_template(tokenizer):
    text = Document("d", ("The sea is old.", "The lake is full, and the river is not."))
    (example,) = adjacent_segments([text], tokenizer)
    assert list(example.ids) == tokenizer(*text.paragraphs)["input_ids"]


def test_units_of_a_segment_are_joined_as_text(tokenizers):
    """A byte-level vocabulary writes the blank before a word, so between units there is one."""
    tokenizer = tokenizers["roberta"]
    units = ("The sea is old.", "The lake is full.", "The river is not.")
    (example,) = adjacent_segments([Document("d", units)], tokenizer)
    wholes = [(units[0], " ".join(units[1:])), (" ".join(units[:2]), units[2])]
    assert list(example.ids) in [tokenizer(*whole)["input_ids"] for whole in wholes]


def test_a_decoder_gets_the_second_segment(tokenizers):
    tokenizer = tokenizers["t5"]
    text = Document("d", ("The sea is old.", "The lake is full."))
    (example,) = adjacent_segments([text], tokenizer, decoder_start=0)
    assert list(example.ids) == tokenizer(text.paragraphs[0])["input_ids"]
    assert list(example.target) == [0, *tokenizer(text.paragraphs[1])["input_ids"][:-1]]
    (short,) = adjacent_segments([text], tokenizer, length=9, decoder_start=0)
    assert len(short.ids) + len(short.target) <= 9


def test_wrong_requests(bert):
    for options, message in [
        ({"segment_ids": "zero"}, "Did you mean 'zeros'"),
        ({"lone_units": "drop"}, "Known: discard, join"),
        ({"seed": -1}, "at least 0"),
        ({"length": 4}, "leaves no room for two texts"),
    ]:
        with pytest.raises(UsageError, match=message):
            adjacent_segments([], bert, **options)


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_the_first_992_pairs_of_wikipedia(bert):
    corpus = open_corpus(Path(os.environ["HEADLIGHT_DATA"]) / "wikipedia_en_2018")
    examples = list(islice(adjacent_segments(corpus, bert), 992))
    assert len(examples) == 992
    assert np.mean([len(example.ids) for example in examples]) > 120
