"""Shards of a corpus: where they begin, what is passed over, and that the rest is what it was."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from headlight.corpora import open_corpus
from headlight.encode import Counts, Encoded, Examples, examples
from headlight.encode.examples import ExampleShards, Marks, Recipe, _text_number
from headlight.errors import CorpusError

SIZE = 3


class Corpus:
    """Words, each of which becomes as many examples as it has letters, and knows its number."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.encoded: list[str] = []

    def examples(self) -> Examples:
        return Examples(
            Recipe(
                self.words,
                lambda word: (word,),
                self._encode,
                marks=Marks(ord("x"), frozenset(), 0),
            )
        )

    def _encode(self, elements: list[str], counts: Counts) -> Iterator[Encoded]:
        self.encoded += elements
        for word in elements:
            counts.documents += 1
            counts.empty += not word
            for letter in word:
                yield Encoded(f"{counts.documents}:{word}", (ord(letter),), (0,), (3,), (0,))


def read(shards: ExampleShards) -> list[tuple]:
    """What is left, shard by shard, with the digest of what was read behind each."""
    found = []
    while not shards.at_end:
        made, counts = shards.take()
        found.append((list(made), dict(counts), shards.digest))
    return found


words = st.lists(st.text("axy", max_size=3), max_size=12)


@given(words, st.integers(1, 5), st.integers(0, 12))
def test_behind_what_is_passed_over_everything_is_as_it_was(
    found: list[str], size: int, passed: int
) -> None:
    corpus = Corpus(found)
    whole = read(corpus.examples().shards(size))
    assert corpus.encoded == found
    other = Corpus(found)
    shards = other.examples().shards(size)
    for _ in whole[:passed]:
        shards.skip()
    assert read(shards) == whole[passed:]
    assert other.encoded == found[passed * size :]


@pytest.mark.slow
@given(st.lists(st.sampled_from(["one two", "three", "", " "]), max_size=12), st.integers(1, 5))
def test_what_a_corpus_leaves_out_is_counted_in_the_shard_around_it(
    strings: list[str], size: int
) -> None:
    """However many shards there are, and wherever one is taken up, all blank strings are."""
    corpus = open_corpus(strings)
    if not any(map(str.strip, strings)):
        with pytest.raises(CorpusError):
            texts_of(corpus).shards(size)
        return
    whole = read(texts_of(corpus).shards(size))
    assert sum(counts.get("blank", 0) for _, counts, _ in whole) == sum(
        not each.strip() for each in strings
    )
    for passed in range(len(whole)):
        shards = texts_of(corpus).shards(size)
        for _ in range(passed):
            shards.skip()
        assert read(shards) == whole[passed:]


def test_of_a_shard_that_is_read_in_part_only_what_lies_before_is_counted() -> None:
    shards = texts_of(open_corpus(["", "one", "", "two", "", "three", ""])).shards(3)
    _, counts = shards.take(2)
    assert counts["blank"] == 2


def texts_of(corpus: Any) -> Examples:
    """A token for each text."""

    def encode(documents: list[Any], counts: Counts) -> Iterator[Encoded]:
        for document in documents:
            counts.documents += 1
            yield Encoded(document.name, (len(document.paragraphs[0]),), (0,), (3,), (0,))

    return Examples(Recipe(corpus, attrgetter("paragraphs"), encode))


@given(words, st.integers(1, 5))
def test_shards_hold_what_iterating_gives(found: list[str], size: int) -> None:
    together, by_shards = Corpus(found).examples(), Corpus(found).examples()
    expected = list(together)
    shards, made, counts, text_sum = by_shards.shards(size), [], Counts(), 0
    while not shards.at_end:
        some, counted = shards.take()
        made += some
        text_sum += counted.pop("text_sum")
        for name, count in counted.items():
            setattr(counts, name, getattr(counts, name) + count)
    assert made == expected
    assert counts == together.counts == by_shards.counts
    assert text_sum == sum(_text_number((word,)) for word in found), "however texts are grouped"


def test_of_the_first_examples_no_more_is_counted() -> None:
    shards = Corpus(["ax", "", "xx"]).examples().shards(SIZE)
    some, counts = shards.take(1)
    assert [each.ids for each in some] == [(ord("a"),)]
    assert (counts["examples"], counts["documents"], counts["empty"]) == (1, 1, 0)
    assert shards.at_end


def test_a_shard_of_long_elements_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "CHARACTERS", 2)
    corpus = Corpus(["aaaa", "aa", "a", "a", "a", "aaaaaaa", "a"])
    sizes = []
    shards = corpus.examples().shards(SIZE)
    while not shards.at_end:
        before = len(corpus.encoded)
        shards.take()
        sizes.append(len(corpus.encoded) - before)
    assert sizes == [2, 3, 1, 1]


@pytest.mark.parametrize("changed", [0, 5, 6])
def test_a_change_is_noticed_where_it_was_read(changed: int) -> None:
    found = [chr(97 + number) for number in range(9)]
    now = [word if number != changed else "z" for number, word in enumerate(found)]
    before, after = (Corpus(each).examples().shards(SIZE) for each in (found, now))
    for _ in range(2):
        before.skip()
        after.skip()
    assert (before.digest == after.digest) == (changed == 6)


@dataclass(frozen=True)
class Part:
    """A sentence of a document, which may be unknown."""

    words: str
    document: str


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=12), st.integers(1, 5), st.integers(0, 5))
def test_units_are_documents_where_they_are_known(
    documents: list[str], size: int, passed: int
) -> None:
    def encode(parts: list[Part], counts: Counts) -> Iterator[Encoded]:
        for part in parts:
            counts.documents += 1
            yield from [Encoded(part.words, (1,), (0,), (3,), (0,))] * 2

    parts = [Part(str(number), document) for number, document in enumerate(documents)]
    expected, unit, before = {}, -1, ""
    for part in parts:
        unit += part.document == "" or part.document != before
        before, expected[part.words] = part.document, unit
    shards = Examples(Recipe(parts, lambda part: (part.words,), encode)).shards(size)
    for _ in range(passed):
        if not shards.at_end:
            shards.skip()
    made = [example for examples, *_ in read(shards) for example in examples]
    assert [example.unit for example in made] == [expected[example.name] for example in made]
    assert len(made) == 2 * max(len(parts) - passed * size, 0)
