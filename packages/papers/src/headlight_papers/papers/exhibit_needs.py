"""Needs of exhibits besides text, and messages where they are missing."""

from collections.abc import Callable
from dataclasses import dataclass

from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.sources import SOURCES


@dataclass(frozen=True)
class Need:
    """Need of an exhibit besides text.

    Attributes:
        missing: Message where the need is not met.
        is_met: Function that asks a reproduction for it.
    """

    missing: str
    is_met: Callable[[Reproduction], object]


def _given(name: str) -> Need:
    message = f"no {SOURCES[name].title} were given (--{name})"
    return Need(message, lambda run: run.sources.named(name))


NEEDS = {
    **{name: _given(name) for name in ("dependency", "coreference", "pairs", "tagged", "labelled")},
    "cola": Need(
        "no sentences of CoLA were given (--pairs)", lambda it: "cola" in it.sources.tasks
    ),
    "mnli": Need(
        "no sentence pairs of MNLI were given (--pairs)", lambda it: "mnli" in it.sources.tasks
    ),
    "gold": Need(
        "no translations with gold links were given (--translations and --gold)",
        lambda it: it.sources.translations and it.sources.gold,
    ),
    "compared": Need("no second model was given (--compare)", lambda it: it.compared),
    "translator": Need("no translation model is loaded (--translator)", lambda it: it.translator),
    "masks": Need("the model has no mask token, or --masks is 0", lambda it: it.masks),
    "gradient": Need(
        "the model has no language-model head, or gradient is not among --measures",
        lambda it: it.wants_gradient,
    ),
}
"""Needs by name; `Sources.check` knows those that are read."""
