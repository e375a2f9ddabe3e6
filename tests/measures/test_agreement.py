"""Agreement of two measures on one text, against pairs of words that are counted one by one."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from headlight.errors import UsageError
from headlight.measures.agreement import kendall, spearman, top_number, top_overlap

values = st.integers(0, 4).map(float)
pairs = st.lists(st.tuples(values, values), max_size=14)


@pytest.mark.slow
@given(pairs)
def test_tau_counts_pairs(given_: list[tuple[float, float]]) -> None:
    first, second = (np.array([each[at] for each in given_], dtype=float) for at in (0, 1))
    found = kendall(first, second)
    difference, free = 0, [0, 0]
    for one, other in combinations(given_, 2):
        ways = [np.sign(a - b) for a, b in zip(one, other, strict=True)]
        difference += ways[0] * ways[1]
        free = [count + abs(way) for count, way in zip(free, ways, strict=True)]
    if not all(free):
        assert math.isnan(found.value)
        assert math.isnan(found.p)
        assert math.isnan(found.significant)
        return
    assert found.value == pytest.approx(difference / math.sqrt(free[0] * free[1]))
    assert found.significant == float(found.p <= 0.05)
    assert found.value == pytest.approx(kendall(second, first).value)


def test_p_values_of_short_texts_are_exact() -> None:
    """Of the 120 orders of five words one has τ = 1 and one −1; four each one pair exchanged."""
    order = np.arange(5.0)
    same, near = kendall(order, order * 2), kendall(order, np.array([1.0, 0, 2, 3, 4]))
    assert same.value == pytest.approx(1)
    assert same.significant == 1
    assert same.p == pytest.approx(2 / 120)
    assert near.value == pytest.approx(0.8)
    assert near.p == pytest.approx(10 / 120)
    assert near.significant == 0


def test_the_overlap_of_the_most_important() -> None:
    first, second = np.array([5.0, 4, 3, 2, 1]), np.array([5.0, 1, 4, 4, 0])
    assert top_overlap(first, second, 1) == 1
    assert top_overlap(first, second, 2) == 0.5, "of words 2 and 3, which are equal, 2 comes first"
    assert top_overlap(first, second, 3) == pytest.approx(2 / 3)
    assert top_overlap(first, second, 9) == 1
    assert math.isnan(top_overlap(np.zeros(0), np.zeros(0), 3))
    assert [top_number(words) for words in (0, 1, 10, 11, 20, 21)] == [0, 1, 1, 2, 2, 3]


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(1, 13))
def test_overlaps_are_those_of_sets(one: list[int], other: list[int], number: int) -> None:
    first, second = np.array(one, dtype=float), np.array(other, dtype=float)
    tops = [{at for at in range(12) if each[at] >= 12 - number} for each in (one, other)]
    expected = len(tops[0] & tops[1]) / len(tops[0])
    assert top_overlap(first, second, number) == pytest.approx(expected)


@pytest.mark.parametrize("ask", [kendall, spearman, lambda a, b: top_overlap(a, b, 2)])
def test_other_words_are_refused(ask) -> None:
    with pytest.raises(UsageError, match="of 3 and of 2 words"):
        ask(np.ones(3), np.ones(2))
