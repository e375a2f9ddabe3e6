"""The sentence pairs that the exhibits of Brunner et al. read: MRPC, CoLA and MNLI."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from headlight.corpora import Corpus, open_sentence_pairs
from headlight.errors import UnknownNameError, UsageError, setting
from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.reproduction import Reproduction

TITLES = {"mrpc": "MRPC", "cola": "CoLA", "mnli": "MNLI"}
"""Names of the sets in the paper, in its order."""


@dataclass(frozen=True)
class PairSet:
    """Set of sentence pairs, and how much of it is read.

    Attributes:
        name: Name such as ``mrpc``; the second set of the same name is called ``mrpc-2``.
        source: File, folder or ``hf:NAME`` of the pairs.
        limit: Largest number of pairs read.
        length: Largest number of tokens in an example.
    """

    name: str
    source: str
    limit: int
    length: int

    @property
    def task(self) -> str:
        """Return the task, ``mrpc``, ``cola``, ``mnli`` or ``pairs``."""
        return self.name.partition("-")[0]

    @property
    def title(self) -> str:
        """Return the printed name of the set: ``MRPC``; ``CoLA (2)``."""
        title, number = TITLES.get(self.task, "pairs"), self.name.partition("-")[2]
        return f"{title} ({number})" if number else title

    @property
    def reads(self) -> list[Any]:
        """Return the inputs that a result of these examples depends on."""
        return [self.source, [self.limit, self.length]]

    @property
    def pairs(self) -> Corpus:
        """Return the pairs that are read."""
        return open_sentence_pairs(self.source).take(self.limit)

    def note(self, examples: int, tokens: int) -> str:
        """Return the note on the pairs read here and in the paper."""
        here = (
            f"{self.title} is {examples:,} examples of {Path(self.source).name}, {tokens:,} "
            f"tokens, {tokens / max(examples, 1):.0f} on average, cut off after {self.length}"
        )
        paper = published.PAIR_SETS.get(self.task)
        if paper is None:
            return f"{here}; it is none of the paper's sets."
        return (
            f"{here}; the paper's are {paper.examples:,} of {paper.shortest} to {paper.longest} "
            f"tokens, {paper.mean} on average."
        )


MakeOfSet = Callable[..., Section]
"""Makes an exhibit, as `Make` does, of the set of a ``name``; None is the first."""


def figures_of_sets(
    make: MakeOfSet, title: str, *rows: tuple[int, str | None, str], needs: tuple[str, ...] = ()
) -> Iterator[ExhibitSpec]:
    """Yield the same figure for several sets of pairs.

    Args:
        make: Function that makes the figure of one set.
        title: Title of all figures; the title of the set follows it.
        rows: Number of the figure, name of the set or None for the first, and section.
        needs: Needs of the figures besides the set.
    """
    for number, name, section in rows:
        yield ExhibitSpec(
            f"figure-{number}",
            f"{title}, {TITLES[name]}" if name else title,
            f"Brunner et al. (2020), Figure {number} and {section}",
            partial(make, name=name),
            (name or "pairs", *needs),
        )


def pair_sets(reproduction: Reproduction[Settings]) -> dict[str, PairSet]:
    """Return every set of pairs by its name: ``mrpc``, ``cola``, ``mnli``, then all others."""
    named: dict[str, PairSet] = {}
    sources = reproduction.sources
    limit, length = reproduction.settings.max_pairs, reproduction.max_length
    for source, task in zip(sources.pairs, sources.tasks, strict=True):
        # A second set of one task is numbered from 2.
        names = (task, *(f"{task}-{number}" for number in range(2, len(sources.pairs) + 1)))
        name = next(name for name in names if name not in named)
        named[name] = PairSet(name, source, limit, length)
    order = [*TITLES, "pairs"]
    # The sort is stable: sets of one task stay in the order in which they were given.
    return dict(sorted(named.items(), key=lambda item: order.index(item[1].task)))


def find_pair_set(reproduction: Reproduction, name: str | None = None) -> PairSet:
    """Find the set of that name; by default that of Sections 4 and 5: MRPC, or the first.

    Raises:
        UsageError: There is no set.
        UnknownNameError: There is no set of that name.
    """
    sets = pair_sets(reproduction)
    if not sets:
        raise UsageError(f"there are no sentence pairs; name some with {setting('pairs=')}.")
    chosen = next(iter(sets)) if name is None else name
    if chosen not in sets:
        raise UnknownNameError("set of sentence pairs", chosen, sets)
    return sets[chosen]
