"""Links between the words of a sentence and of its translation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Link = tuple[int, int]
"""The word of the source and the word of the target, each from 0."""

Links = frozenset[Link]
"""The links of one sentence."""

Scores = Mapping[Link, float]
"""How strong links are; not all of them need a score."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The links of one sentence as people gave them, or an aligner, to whom all are sure.

    Attributes:
        sure: Certain links.
        possible: All links, the sure ones included.
        name: Where they are from, for messages: ``"gold.talp:12"``.
    """

    sure: Links
    possible: Links
    name: str = ""

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            object.__setattr__(self, "possible", self.possible | self.sure)

    @classmethod
    def of(cls, links: Iterable[Link]) -> "Gold":
        """Links that are all sure."""
        sure = frozenset(links)
        return cls(sure, sure)

    @property
    def only_possible(self) -> Links:
        """The links that are not sure."""
        return self.possible - self.sure

    def without_possible(self) -> "Gold":
        """The sure links alone."""
        return Gold(self.sure, self.sure, self.name)


def swapped(links: Iterable[Link]) -> Links:
    """The links from target to source."""
    return frozenset((target, source) for source, target in links)
