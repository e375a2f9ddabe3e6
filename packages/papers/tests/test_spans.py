"""Spans of tags, by hand and against the rules that conlleval and seqeval are written in."""

import math

import pytest
from hypothesis import given, strategies as st

from headlight_papers.spans import SpanScore, span_score, spans_of

TAGS = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP"])


def conlleval(tags: list[str]) -> list[tuple[int, int, str]]:
    """The functions startOfChunk and endOfChunk of the script, for the marks B, I and O."""
    found, first = [], 0
    before_mark, before_type = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        ends = (before_mark, mark) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")} or (
            before_mark != "O" and before_type != kind
        )
        begins = (before_mark, mark) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")} or (
            mark != "O" and before_type != kind
        )
        if ends:
            found.append((first, place, before_type))
        if begins:
            first = place
        before_mark, before_type = mark, kind
    return found


def iob2(tags: list[str]) -> list[tuple[int, int, str]]:
    """The definition: B-X, and every I-X that follows without a gap."""
    found = []
    for first, tag in enumerate(tags):
        if tag.startswith("B-"):
            last = first + 1
            while last < len(tags) and tags[last] == f"I-{tag[2:]}":
                last += 1
            found.append((first, last, tag[2:]))
    return found


@given(st.lists(TAGS, max_size=9))
def test_against_the_definitions(tags):
    assert spans_of(tags) == iob2(tags)
    assert spans_of(tags, "lenient") == conlleval(tags)


@pytest.mark.parametrize(
    ("tags", "strict", "lenient"),
    [
        ([], [], []),
        (["O", "O"], [], []),
        (["B-NP", "I-NP", "O", "B-VP"], [(0, 2, "NP"), (3, 4, "VP")], None),
        (["B-NP", "B-NP"], [(0, 1, "NP"), (1, 2, "NP")], None),
        (["O", "I-NP", "I-NP"], [], [(1, 3, "NP")]),
        (["B-NP", "I-VP", "I-VP"], [(0, 1, "NP")], [(0, 1, "NP"), (1, 3, "VP")]),
        (["B-NP", "O", "I-NP"], [(0, 1, "NP")], [(0, 1, "NP"), (2, 3, "NP")]),
        (["B-A-B", "I-A-B"], [(0, 2, "A-B")], None),
        (["B", "I", "O"], [(0, 2, "")], None),
    ],
)
def test_by_hand(tags, strict, lenient):
    assert spans_of(tags) == strict
    assert spans_of(tags, "lenient") == (strict if lenient is None else lenient)


def test_scores_by_hand():
    """Two of three spans are found, beside one with a wrong end and one that is not there."""
    gold = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "I-NP"]]
    found = [["B-NP", "I-NP", "B-PP", "B-VP"], ["B-NP", "O"]]
    score = span_score(gold, found)
    assert score == SpanScore(correct=2, predicted=4, gold=3)
    assert score.f1 == pytest.approx(2 * 2 / 7)


def test_a_broken_span_counts_only_where_it_is_forgiven():
    gold, found = [["B-NP", "I-NP", "O"]], [["I-NP", "I-NP", "O"]]
    assert span_score(gold, found).f1 == 0
    assert span_score(gold, found, "lenient").f1 == 1
    assert span_score(gold, gold).f1 == 1


def test_nothing_has_no_score():
    nothing = span_score([["O"]], [["O"]])
    assert math.isnan(nothing.f1)
    assert span_score([["B-X"]], [["O"]]).f1 == 0


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=12))
def test_parts_add_up(pairs):
    gold, found = ([pair[side] for pair in pairs] for side in (0, 1))
    half = len(pairs) // 2
    whole = span_score([gold[:half], gold[half:]], [found[:half], found[half:]])
    parts = [span_score([gold[:half]], [found[:half]]), span_score([gold[half:]], [found[half:]])]
    assert whole == parts[0] + parts[1]
    assert 0 <= whole.correct <= min(whole.predicted, whole.gold)


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="2 gold tags for 1"):
        span_score([["O", "O"]], [["O"]])
