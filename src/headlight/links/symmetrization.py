"""One alignment of two: those of the two directions, put together.

Source: Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
Section 4; Koehn, Och and Marcu (2003), "Statistical Phrase-Based Translation", Section 3.  The
program `symal` of Moses is what most people mean by ``grow-diag-final-and``, and what is done here
under that name, in its order: by the word of the target, then by that of the source.  The scripts
of Zenkel, Wuebker and DeNero (2019) grow only to links of which *both* words have none yet, under
the same names; here those are called ``strict``.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable
from typing import Literal

from headlight.links.word_links import Link, Links
from headlight.settings import require_choice

Symmetrization = Literal[
    "intersection",
    "union",
    "grow",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "grow-diag-strict",
    "grow-diag-strict-final",
]

BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1))
AROUND = (*BESIDE, (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrized(method: str, forward: Iterable[Link], reverse: Iterable[Link]) -> Links:
    """The links of one sentence, of those that two aligners found.

    Args:
        method: One of `Symmetrization`: the intersection, the union, or what grows from the first
            towards the second.
        forward: What an aligner from source to target found.
        reverse: What one from target to source found, also as pairs of source and target.

    Raises:
        UnknownNameError: There is no such method.
    """
    require_choice("symmetrization", method, Symmetrization)
    return _METHODS[method](frozenset(forward), frozenset(reverse))


class _Growing:
    """Links that more are added to, in the order of Moses, and the words that have one."""

    def __init__(self, links: Links) -> None:
        self._points = sorted((target, source) for source, target in links)
        self._targets = {target for target, _ in self._points}
        self._sources = {source for _, source in self._points}

    @property
    def links(self) -> Links:
        """All of them."""
        return frozenset((source, target) for target, source in self._points)

    def offer(self, links: Iterable[Link], needs: Callable[[Iterable[bool]], bool]) -> bool:
        """Add each link of which any word, or all, have none yet; whether there was one."""
        before = len(self._points)
        for target, source in sorted((target, source) for source, target in links):
            if needs((target not in self._targets, source not in self._sources)):
                insort(self._points, (target, source))
                self._targets.add(target)
                self._sources.add(source)
        return len(self._points) > before

    def grow(
        self, towards: Links, around: tuple[Link, ...], needs: Callable[[Iterable[bool]], bool]
    ) -> None:
        """Add neighbours of links, and neighbours of those, until there are none."""
        added = True
        while added:
            added = False
            at = 0
            while at < len(self._points):
                point = self._points[at]
                for down, right in around:
                    near = (point[1] + right, point[0] + down)
                    added |= near in towards and self.offer([near], needs)
                at = bisect_right(self._points, point)  # also to what was added behind it


def _grown(
    forward: Links,
    reverse: Links,
    around: tuple[Link, ...] = AROUND,
    needs: Callable[[Iterable[bool]], bool] = any,
) -> _Growing:
    growing = _Growing(forward & reverse)
    growing.grow(forward | reverse, around, needs)
    return growing


def _final(forward: Links, reverse: Links, needs: Callable[[Iterable[bool]], bool]) -> Links:
    growing = _grown(forward, reverse)
    growing.offer(forward | reverse, needs)
    return growing.links


def _strict_final(forward: Links, reverse: Links) -> Links:
    growing = _grown(forward, reverse, needs=all)
    growing.offer(forward, all)
    growing.offer(reverse, all)
    return growing.links


_METHODS: dict[str, Callable[[Links, Links], Links]] = {
    "intersection": lambda forward, reverse: forward & reverse,
    "union": lambda forward, reverse: forward | reverse,
    "grow": lambda forward, reverse: _grown(forward, reverse, BESIDE).links,
    "grow-diag": lambda forward, reverse: _grown(forward, reverse).links,
    "grow-diag-final": lambda forward, reverse: _final(forward, reverse, any),
    "grow-diag-final-and": lambda forward, reverse: _final(forward, reverse, all),
    "grow-diag-strict": lambda forward, reverse: _grown(forward, reverse, needs=all).links,
    "grow-diag-strict-final": _strict_final,
}
