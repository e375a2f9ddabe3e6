"""Time that contributions will take, from a few texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter

from headlight.capture.attribution import attribute
from headlight.encode import Encoded
from headlight.engine.plan import StudyPlan
from headlight_papers.studies.attribution import AttributionStudySettings

Seconds = Callable[[str, Encoded], float]
"""Function from a method, ``estimate`` or ``exact``, and a text to the seconds that it takes."""

TEXTS_AHEAD = 1000
"""Texts that are counted at most, to say beforehand how long a study takes."""

TEXTS_TRIED = 20
"""Texts of which the shortest shows how long one takes."""

DIRECTIONS_TRIED = 16
"""Directions by which it shows that, at most."""


def outlook(texts: Sequence[Encoded], settings: AttributionStudySettings, seconds: Seconds) -> str:
    """Return a line that says how long a study takes.

    Args:
        texts: First texts, or all.
        settings: See `AttributionStudySettings`.
        seconds: See `expected_seconds`.
    """
    method = settings.attribution.method
    least = "at least " if len(texts) == TEXTS_AHEAD else ""
    minutes = sum(seconds(method, text) for text in texts) / 60
    line = f"{least}about {minutes:,.1f} minutes for {len(texts):,} texts"
    compared = list(islice(short_texts(texts, settings), settings.exact))
    if method != "exact" and compared:
        minutes = sum(seconds("exact", text) for text in compared) / 60
        line += f", then {minutes:,.1f} to compute {len(compared):,} exactly"
    return f"{line}\n"


def expected_seconds(
    plan: StudyPlan[Encoded], settings: AttributionStudySettings, texts: Sequence[Encoded]
) -> Seconds:
    """Return the seconds that a text takes by a method, by a few directions of a short one.

    Each change of a token runs the text once more, so that time grows with the square of a
    length, and with the number of directions.

    Args:
        plan: Plan of the study.
        settings: See `AttributionStudySettings`.
        texts: Texts, at least one; the shortest of the first ones is tried.
    """
    # A short text shows the time soonest, and the time of others follows from its square.
    short = min(texts[:TEXTS_TRIED], key=lambda text: len(text.ids))
    batch = plan.model.collate([short])
    few = settings.attribution.replace(
        method="estimate", directions=min(settings.attribution.directions, DIRECTIONS_TRIED)
    )
    attribute(plan.model, batch, few.replace(directions=2), kind=plan.kind)  # loads what it needs
    begun = perf_counter()
    attribute(plan.model, batch, few, kind=plan.kind)
    change = (perf_counter() - begun) / (few.directions * len(short.ids) ** 2)
    dimensions: int = plan.model.base().transformer.get_input_embeddings().weight.shape[1]

    def seconds(method: str, text: Encoded) -> float:
        directions = dimensions if method == "exact" else settings.attribution.directions
        return change * min(directions, dimensions) * len(text.ids) ** 2

    return seconds


def short_texts(texts: Iterable[Encoded], settings: AttributionStudySettings) -> Iterator[Encoded]:
    """Yield the texts that are not too long to be computed exactly."""
    return (text for text in texts if len(text.ids) <= settings.exact_tokens)
