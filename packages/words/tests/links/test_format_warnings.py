"""A wrong direction or index base of links is noticed, and bad links are not taken for it."""

from pathlib import Path

import numpy as np
import pytest

from headlight.errors import CorpusError
from headlight_words.links import Gold, Links, check_format, demand_words, swapped

N = 30


@pytest.fixture(scope="module")
def gold() -> list[Gold]:
    """Sentences of 12 words, of which neighbours change places."""
    generator = np.random.default_rng(0)
    orders = [np.argsort(np.arange(12) + generator.normal(0, 2, 12)).tolist() for _ in range(N)]
    return [Gold.of(enumerate(order)) for order in orders]


def moved(links: Links, source: int, target: int) -> Links:
    return frozenset((i + source, j + target) for i, j in links)


def test_links_in_another_reading(gold: list[Gold]) -> None:
    found = [each.possible for each in gold]
    assert check_format(gold, found) is None
    warning = check_format(gold, [swapped(each) for each in found])
    assert warning is not None
    assert (warning.swapped, warning.step, warning.sentence, warning.other) == (True, 0, 0, 0)
    for step in (1, -1):
        for swap in (False, True):
            read = [moved(swapped(each) if swap else each, step, step) for each in found]
            warning = check_format(gold, read)
            assert warning is not None
            assert (warning.swapped, warning.step, warning.other) == (swap, step, 0)
            assert warning.error_rate > 0.5


def test_bad_links_are_scored_all_the_same(gold: list[Gold]) -> None:
    generator = np.random.default_rng(1)
    for found in (
        [frozenset((i, i) for i in range(12))] * N,
        [frozenset((i, int(generator.integers(12))) for i in range(12)) for _ in gold],
        [moved(each.possible, 0, 1) for each in gold],
        [moved(each.possible, 1, 0) for each in gold],
        [frozenset[tuple[int, int]]()] * N,
    ):
        assert check_format(gold, found) is None


def test_two_sentences_tell_nothing(gold: list[Gold]) -> None:
    assert check_format(gold[:2], [swapped(each.possible) for each in gold[:2]]) is None


def test_words_that_are_not_there() -> None:
    links = [Gold(frozenset({(0, 0)}), frozenset({(1, 3)}), "a:1"), Gold.of([])]
    demand_words(links, [(2, 4), (0, 0)])
    for lengths in ((2, 3), (1, 4), (0, 0)):
        with pytest.raises(CorpusError, match=r"a:1: the link .* leaves the sentences"):
            demand_words(links, [lengths, (0, 0)])


def test_nothing(tmp_path: Path) -> None:
    assert check_format([], []) is None
    assert check_format([Gold.of([])], [frozenset()]) is None
