"""Needs of exhibits besides text, and what is said where they are missing."""

from collections.abc import Callable
from dataclasses import dataclass

from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.sources import SOURCES


@dataclass(frozen=True)
class Need:
    """Need of an exhibit besides text.

    Attributes:
        missing: what is said where it is not there.
        there: asks a reproduction for it.
    """

    missing: str
    there: Callable[[Reproduction], object]


def _given(name: str) -> Need:
    message = f"no {SOURCES[name].title} were given (--{name})"
    return Need(message, lambda run: run.sources.named(name))


NEEDS = {
    name: _given(name) for name in ("dependency", "coreference", "pairs", "tagged", "labelled")
}
