"""Precision, recall and AER: values worked out by hand, the definition, and its laws."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import headlight
from headlight_words.links import (
    COUNTS,
    RATES,
    Gold,
    LinkCounts,
    Links,
    link_rate_slots,
    link_rates,
    score_links,
)

WORD = st.integers(0, 4)
LINKS = st.frozensets(st.tuples(WORD, WORD), max_size=6)
SENTENCES = st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=6)


def gold(sure: Sequence[tuple[int, int]], possible: Sequence[tuple[int, int]] = ()) -> Gold:
    return Gold(frozenset(sure), frozenset(possible))


def test_a_sentence_by_hand() -> None:
    # S = 2, P = 3, A = 4: two of A are possible, one of them sure.
    counts = LinkCounts.of(gold([(0, 0), (1, 1)], [(1, 2)]), [(0, 0), (1, 2), (3, 3), (2, 0)])
    assert counts == LinkCounts(2, 3, 4, 1, 2, 1)
    score = score_links([gold([(0, 0), (1, 1)], [(1, 2)])], [[(0, 0), (1, 2), (3, 3), (2, 0)]])
    assert (score.precision, score.recall, score.error_rate) == (0.5, 0.5, 1 - 3 / 6)


def test_sums_go_over_all_sentences_and_not_over_their_rates() -> None:
    golds = [gold([(0, 0)]), gold([(0, 0), (1, 1), (2, 2)])]
    score = score_links(golds, [[(0, 0)], [(0, 1)]])
    assert score.counts == LinkCounts(4, 4, 2, 1, 1, 2)
    assert (score.precision, score.recall) == (1 / 2, 1 / 4)
    assert score.error_rate == pytest.approx(1 - 2 / 6)


@settings(max_examples=25)
@given(SENTENCES)
def test_the_definition(sentences: list[tuple[Links, Links, Links]]) -> None:
    golds = [Gold(sure, possible) for sure, possible, _ in sentences]
    a = {(n, link) for n, (_, _, found) in enumerate(sentences) for link in found}
    s = {(n, link) for n, (sure, _, _) in enumerate(sentences) for link in sure}
    p = s | {(n, link) for n, (_, possible, _) in enumerate(sentences) for link in possible}
    score = score_links(golds, [found for *_, found in sentences])
    expected = [
        len(a & p) / len(a) if a else math.nan,
        len(a & s) / len(s) if s else math.nan,
        1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else math.nan,
    ]
    np.testing.assert_allclose([score.precision, score.recall, score.error_rate], expected)
    assert score.counts.possible == len(p)


@settings(max_examples=25)
@given(SENTENCES, st.integers(0, 6))
def test_counts_can_be_added_in_any_parts(
    sentences: list[tuple[Links, Links, Links]], cut: int
) -> None:
    counts = [LinkCounts.of(Gold(s, p), found) for s, p, found in sentences]
    whole = sum(counts, LinkCounts())
    assert sum(counts[cut:], LinkCounts()) + sum(counts[:cut], LinkCounts()) == whole
    golds = [Gold(s, p) for s, p, _ in sentences]
    assert score_links(golds, [found for *_, found in sentences]).counts == whole


@settings(max_examples=25)
@given(st.lists(st.tuples(LINKS, LINKS), min_size=1))
def test_without_possible_links_it_is_one_minus_f1(sentences: list[tuple[Links, Links]]) -> None:
    score = score_links([Gold.of(g) for g, _ in sentences], [a for _, a in sentences])
    if score.precision + score.recall > 0:
        f1 = 2 * score.precision * score.recall / (score.precision + score.recall)
        assert score.error_rate == pytest.approx(1 - f1)


@settings(max_examples=25)
@given(st.lists(st.tuples(LINKS, LINKS), min_size=1))
def test_it_is_zero_for_all_that_lies_between_sure_and_possible(
    sentences: list[tuple[Links, Links]],
) -> None:
    golds = [Gold(sure, possible) for sure, possible in sentences]
    for found in ([g.sure for g in golds], [g.possible for g in golds]):
        score = score_links(golds, found)
        assert math.isnan(score.error_rate) or score.error_rate == 0


def test_possible_links_hold_the_sure_ones() -> None:
    one = gold([(0, 0)], [(1, 1)])
    assert one.possible == {(0, 0), (1, 1)}
    assert one.only_possible == {(1, 1)}
    assert one.without_possible() == gold([(0, 0)])
    assert Gold.of([(1, 2)]) == gold([(1, 2)], [(1, 2)])


@settings(max_examples=20)
@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=2, max_size=30))
def test_intervals_are_within_0_and_1(
    sentences: list[tuple[Links, Links, Links]],
) -> None:
    golds = [Gold(s, p) for s, p, _ in sentences]
    score = score_links(golds, [found for *_, found in sentences])
    for name in RATES:
        low, high = score.intervals[name]
        assert math.isnan(low) or 0 <= low <= high <= 1


def test_rates_without_a_block_are_those_of_the_rest() -> None:
    generator = np.random.default_rng(0)
    hits = generator.integers(0, 9, (32, 2, 4, 2)).astype(float)
    sizes = hits.sum(axis=-1, keepdims=True) + generator.integers(1, 9, (32, 2, 4, 3))
    counts = np.concatenate([sizes, hits, np.ones((32, 2, 4, 1))], axis=-1)
    found = link_rate_slots(counts, np.ones(32))
    np.testing.assert_array_equal(found["mean"], link_rates(counts.sum(0)))
    for slot in range(32):
        rest = np.delete(counts, slot, 0).sum(0)
        np.testing.assert_allclose(found["without"][slot], link_rates(rest))
    assert found["mean"].shape == (2, 4, len(RATES))
    assert len(COUNTS) == counts.shape[-1]


def test_the_interval_is_wider_of_fewer_sentences() -> None:
    generator = np.random.default_rng(1)
    golds = [gold([(i, i) for i in range(8)])] * 400
    found = [[(i, i + int(generator.integers(2))) for i in range(8)] for _ in golds]
    few, many = (score_links(golds[:n], found[:n]).intervals["error_rate"] for n in (25, 400))
    assert few[1] - few[0] > 2 * (many[1] - many[0])
    assert many[0] < score_links(golds, found).error_rate < many[1]


def test_different_numbers_of_sentences() -> None:
    with pytest.raises(ValueError, match="zip"):
        score_links([gold([])], [])


def test_the_signature() -> None:
    score = score_links([gold([(0, 0)], [(1, 1)])], [[]])
    version = headlight.__version__
    assert score.signature("talp1", "union", null="special") == (
        f"AER|gold:talp1|S:1|P:2|sents:1|sym:union|null:special|v:{version}"
    )
    assert score.signature() == f"AER|gold:pharaoh0|S:1|P:2|sents:1|sym:none|v:{version}"
    assert math.isnan(score.intervals["recall"][0])
