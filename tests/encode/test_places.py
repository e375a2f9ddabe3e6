"""Places in a corpus: what is before one is passed over, and the rest is what it was."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from headlight.encode import Counts, Encoded, Examples, examples
from headlight.encode.examples import Recipe

GROUP = 3


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "GROUP_TEXTS", GROUP)


class Corpus:
    """Words, each of which becomes as many examples as it has letters."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.encoded: list[str] = []

    def examples(self) -> Examples:
        return Examples(Recipe(self.words, lambda word: (word,), self._encode, unknown=ord("x")))

    def _encode(self, group: list[str], counts: Counts) -> Iterator[Encoded]:
        self.encoded += group
        for word in group:
            counts.documents += 1
            counts.empty += not word
            for letter in word:
                yield Encoded(word, (ord(letter),), (0,), (3,), (0,))


words = st.lists(st.text("axy", max_size=3), max_size=12)


@given(words, st.integers(0, 40), st.integers(0, 40))
def test_behind_a_place_everything_is_as_it_was(found: list[str], first: int, second: int) -> None:
    whole = Corpus(found).examples()
    reader = iter(whole)
    begun = [each for each, _ in zip(reader, range(first), strict=False)]
    place = json.loads(json.dumps(reader.place()))
    rest = list(reader)
    again = Corpus(found).examples()
    other = iter(again)
    for _ in zip(range(min(second, len(begun))), other, strict=False):  # it may have begun, too
        pass
    assert other.go_to(place)
    assert list(other) == rest
    assert again.counts == whole.counts
    assert other.place() == reader.place()


def test_what_is_passed_over_is_not_encoded() -> None:
    found = [f"{chr(97 + number)}" for number in range(20)]
    reader = iter(Corpus(found).examples())
    for _ in range(14):
        next(reader)
    corpus = Corpus(found)
    other = iter(corpus.examples())
    assert other.go_to(reader.place())
    assert next(other).name == "o"
    assert corpus.encoded == found[12:15]


@pytest.mark.parametrize("changed", [0, 11, 12, 13])
def test_a_change_before_a_place_is_noticed(changed: int) -> None:
    found = [f"{chr(97 + number)}" for number in range(20)]
    reader = iter(Corpus(found).examples())
    for _ in range(14):
        next(reader)
    now = [word if number != changed else "z" for number, word in enumerate(found)]
    assert not iter(Corpus(now).examples()).go_to(reader.place())
    assert not iter(Corpus(found[: changed + 1]).examples()).go_to(reader.place()) or changed == 13
    after = [*found[:14], "z", *found[15:]]
    assert iter(Corpus(after).examples()).go_to(reader.place())
