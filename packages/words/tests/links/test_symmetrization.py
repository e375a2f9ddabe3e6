"""Two directions put together: against definitions, and against examples worked out by hand."""

from collections.abc import Callable, Iterable
from typing import get_args

import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import UnknownNameError
from headlight_words.links import Link, Links, Symmetrization, swapped, symmetrized

METHODS = get_args(Symmetrization)
WORD = st.integers(0, 6)
LINKS = st.frozensets(st.tuples(WORD, WORD), max_size=14)


def links(text: str) -> Links:
    return frozenset((int(i), int(j)) for i, j in (each.split("-") for each in text.split()))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # 1-1 is beside 0-0 by its corner alone; 3-4 and 4-4 are far away; 6-6 has two free words.
        ("intersection", "0-0 2-2"),
        ("union", "0-0 1-1 2-2 2-3 3-4 4-4 0-5 6-6"),
        ("grow", "0-0 2-2 2-3"),
        ("grow-diag", "0-0 1-1 2-2 2-3 3-4 4-4"),
        ("grow-diag-final", "0-0 1-1 2-2 2-3 3-4 4-4 0-5 6-6"),
        ("grow-diag-final-and", "0-0 1-1 2-2 2-3 3-4 4-4 6-6"),
        ("grow-diag-strict", "0-0 1-1 2-2"),
        ("grow-diag-strict-final", "0-0 1-1 2-2 3-4 6-6"),
    ],
)
def test_an_example(method: Symmetrization, expected: str) -> None:
    forward, reverse = links("0-0 1-1 2-2 3-4 0-5"), links("0-0 2-2 2-3 4-4 6-6")
    assert symmetrized(method, forward, reverse) == links(expected)


def test_what_grows_last_depends_on_the_order_of_moses() -> None:
    # By target, then source: 1-1 gets 1-2, whose words are then taken for 2-2 in the strict form.
    forward, reverse = links("1-1 2-2"), links("1-1 1-2")
    assert symmetrized("grow-diag", forward, reverse) == links("1-1 1-2 2-2")
    # Of the first direction comes first what is final.
    assert symmetrized("grow-diag-strict-final", links("0-1"), links("0-0")) == links("0-1")
    assert symmetrized("grow-diag-final-and", links("0-1"), links("0-0")) == links("0-0")


def naive_growth(
    forward: Links, reverse: Links, corners: bool, needs: Callable[[Iterable[bool]], bool]
) -> set[Link]:
    """The pseudocode of Koehn, Och and Marcu (2003), cell by cell, rows of targets."""
    found, union = set(forward & reverse), forward | reverse
    around = [(0, -1), (-1, 0), (0, 1), (1, 0)]  # source, target
    around += [(-1, -1), (1, -1), (-1, 1), (1, 1)] if corners else []
    size = range(max([0, *(max(link) + 1 for link in union)]))
    while True:
        before = len(found)
        for target in size:
            for source in size:
                if (source, target) not in found:
                    continue
                for right, down in around:
                    new = (source + right, target + down)
                    free = (
                        all(i != new[0] for i, _ in found),
                        all(j != new[1] for _, j in found),
                    )
                    if new in union and needs(free):
                        found.add(new)
        if len(found) == before:
            return found


def naive_final(
    found: set[Link], offered: Links, needs: Callable[[Iterable[bool]], bool]
) -> set[Link]:
    for source, target in sorted(offered, key=lambda link: link[::-1]):
        free = (all(i != source for i, _ in found), all(j != target for _, j in found))
        if needs(free):
            found.add((source, target))
    return found


@settings(max_examples=50)
@given(LINKS, LINKS)
def test_all_methods_are_what_their_definitions_say(forward: Links, reverse: Links) -> None:
    def moses(corners: bool = True) -> set[Link]:
        return naive_growth(forward, reverse, corners, any)

    strict = naive_growth(forward, reverse, True, all)
    expected = {
        "intersection": forward & reverse,
        "union": forward | reverse,
        "grow": moses(corners=False),
        "grow-diag": moses(),
        "grow-diag-final": naive_final(moses(), forward | reverse, any),
        "grow-diag-final-and": naive_final(moses(), forward | reverse, all),
        "grow-diag-strict": strict,
        "grow-diag-strict-final": naive_final(naive_final(set(strict), forward, all), reverse, all),
    }
    assert expected.keys() == set(METHODS)
    for method in METHODS:
        assert symmetrized(method, forward, reverse) == expected[method], method


@settings(max_examples=50)
@given(LINKS, LINKS)
def test_methods_lie_within_each_other(forward: Links, reverse: Links) -> None:
    found = {method: symmetrized(method, forward, reverse) for method in METHODS}
    for smaller, larger in [
        ("intersection", "grow"), ("intersection", "grow-diag-strict"),
        ("grow-diag", "grow-diag-final"), ("grow-diag", "grow-diag-final-and"),
        ("grow-diag-strict", "grow-diag-strict-final"), ("grow", "union"),
        ("grow-diag-final", "union"), ("grow-diag-strict-final", "union"),
    ]:  # fmt: skip
        assert found[smaller] <= found[larger]
    covered = found["grow-diag-final"]
    assert {i for i, _ in covered} == {i for i, _ in forward | reverse}
    assert {j for _, j in covered} == {j for _, j in forward | reverse}


@settings(max_examples=50)
@given(LINKS)
@pytest.mark.parametrize("method", METHODS)
def test_links_that_agree_stay_as_they_are(method: Symmetrization, both: Links) -> None:
    assert symmetrized(method, both, both) == both
    assert symmetrized(method, list(both), iter(both)) == both
    assert symmetrized("intersection", both, ()) == frozenset()
    assert swapped(swapped(both)) == both


@settings(max_examples=50)
@given(LINKS, LINKS)
@pytest.mark.parametrize("method", [m for m in METHODS if m != "grow-diag-strict-final"])
def test_the_directions_are_equal(method: Symmetrization, one: Links, other: Links) -> None:
    assert symmetrized(method, one, other) == symmetrized(method, other, one)


def test_an_unknown_method() -> None:
    with pytest.raises(UnknownNameError, match="grow-diag"):
        symmetrized("grow-diagonal", frozenset(), frozenset())
