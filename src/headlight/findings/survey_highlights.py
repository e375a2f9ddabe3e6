"""Highlights of a survey: the sentences whose rules hold, the most important first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import xarray as xr

from headlight.findings.candidates import is_understood
from headlight.findings.sentence_rules import AFTER, Evidence, Rule, write
from headlight.findings.survey_rules import survey_rules
from headlight.findings.what_was_read import number_of_texts

_MOST = 12


@dataclass(frozen=True, slots=True)
class Highlight:
    """Sentence about a model.

    Attributes:
        text: Sentence.
        layer: Layer that it is about, or None.
        head: Head that it is about, or None.
        importance: Importance from 0 to 1, by which highlights are ranked.
        kind: Topic; no other highlight of a list has the same.
        question: Statistic that it is about, as the grid of heads shows it; empty if it is none.
        measure: Measure of the question; empty where the question has none.
        inconclusive: Whether intervals leave open what it says; such highlights are counted, and
            not listed.
    """

    text: str
    layer: int | None
    head: int | None
    importance: float
    kind: str
    question: str = ""
    measure: str = ""
    inconclusive: bool = False


def highlights(result: xr.Dataset) -> list[Highlight]:
    """Return the highlights of a survey: at most twelve sentences, the most important first.

    Args:
        result: Result of a survey, of one kind of attention. Numbers that were not observed (NaN)
            or are missing are not spoken of, nor those that `headlight.findings.candidates` leaves
            out.
    """
    if not is_understood(result):
        return []
    supported = [
        (rule, evidence)
        for rule in survey_rules()
        if (evidence := rule.evidence(result)) is not None
    ]
    written = {rule.topic: _highlight(result, rule, evidence) for rule, evidence in supported}
    for rule, evidence in supported:
        if AFTER in rule.templates:
            written[rule.topic] = _with_head(
                written[rule.topic],
                # The sentence of the head is told here, and not a second time.
                written.pop(evidence.row) if _is_joined(written, rule, evidence) else None,
                write(result, rule.templates[AFTER], evidence.values),
            )
    chosen = [
        written[rule.topic]
        for rule, _ in supported
        if rule.topic in written and not (rule.unless_named and _is_named(written, rule.topic))
    ]
    conclusive = [highlight for highlight in chosen if not highlight.inconclusive]
    most = sorted(conclusive, key=lambda highlight: -highlight.importance)[:_MOST]
    return [*most, *_left_out(result, len(chosen) - len(conclusive))]


def _highlight(result: xr.Dataset, rule: Rule, evidence: Evidence) -> Highlight:
    place = evidence.place
    return Highlight(
        text=write(result, rule.templates[evidence.template], evidence.values),
        layer=None if place is None else int(result["layer"].values[place[0]]),
        head=place[1] if place is not None and len(place) > 1 else None,
        importance=evidence.importance,
        kind=rule.topic,
        question=evidence.row if place is None else rule.question,
        measure=evidence.measure,
        inconclusive=evidence.inconclusive,
    )


def _is_joined(written: dict[str, Highlight], rule: Rule, evidence: Evidence) -> bool:
    """Return whether a sentence about means names the head that shows it most."""
    head = written.get(evidence.row)
    return head is not None and not head.inconclusive and written[rule.topic].importance >= 1


def _with_head(means: Highlight, head: Highlight | None, after: str) -> Highlight:
    """Join a highlight about means, that of a head, and the sentences that follow."""
    if head is None:
        return replace(means, text=f"{means.text} {after}")
    return replace(head, text=f"{means.text} {head.text} {after}", importance=1.0)


def _is_named(written: dict[str, Highlight], topic: str) -> bool:
    """Return whether another sentence names the head of a topic."""
    head = written[topic]
    return any(
        (highlight.layer, highlight.head) == (head.layer, head.head)
        for name, highlight in written.items()
        if name != topic
    )


def _left_out(result: xr.Dataset, number: int) -> Iterator[Highlight]:
    """Yield a line about findings that intervals leave open, where there are any."""
    if number:
        verb = "is" if number == 1 else "are"
        text = f"{number} more {verb} inconclusive with these {number_of_texts(result)}."
        yield Highlight(text, None, None, 0.0, "inconclusive")
