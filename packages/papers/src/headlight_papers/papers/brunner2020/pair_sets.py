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
"""The names of the sets in the paper, in its order."""


@dataclass(frozen=True)
class PairSet:
    """Some sentence pairs, and how much of them is read.

    Attributes:
        name: ``mrpc``; of two with the same name the second is called ``mrpc-2``.
        source: where they are read from.
        limit: this many are read at most.
        length: tokens in an example at most.
    """

    name: str
    source: str
    limit: int
    length: int

    @property
    def task(self) -> str:
        """``mrpc``, ``cola``, ``mnli`` or ``pairs``."""
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
        make: what it shows.
        title: of all of them; that of the set follows it.
        rows: number of the figure, name of the set or None for the first, and section.
        needs: what it cannot do without besides the set.
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
    """Every set of pairs by its name: ``mrpc``, ``cola``, ``mnli``, then all others."""
    named: dict[str, PairSet] = {}
    sources = reproduction.sources
    limit, length = reproduction.settings.max_pairs, reproduction.max_length
    for source, task in zip(sources.pairs, sources.tasks, strict=True):
        names = (task, *(f"{task}-{number}" for number in range(2, len(sources.pairs) + 1)))
        name = next(name for name in names if name not in named)
        named[name] = PairSet(name, source, limit, length)
    order = [*TITLES, "pairs"]
    return dict(sorted(named.items(), key=lambda item: order.index(item[1].task)))


def find_pair_set(reproduction: Reproduction, name: str | None = None) -> PairSet:
    """The set of that name; by default that of Sections 4 and 5: MRPC, or the first there is.

    Raises:
        UsageError: there is none.
        UnknownNameError: there is none of that name.
    """
    sets = pair_sets(reproduction)
    if not sets:
        raise UsageError(f"there are no sentence pairs; name some with {setting('pairs=')}.")
    chosen = next(iter(sets)) if name is None else name
    if chosen not in sets:
        raise UnknownNameError("set of sentence pairs", chosen, sets)
    return sets[chosen]
