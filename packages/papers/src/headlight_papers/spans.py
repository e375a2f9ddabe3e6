"""Spans that tags stand for, such as chunks and names, and how many of them are found.

A tag is ``O``, or ``B-`` or ``I-`` with a type behind it (IOB2).  Two readings of sequences that
break the scheme are in use, and their scores differ:

- ``strict`` is IOB2 as it is written: a span begins with ``B-`` and goes on with ``I-`` of its
  type.  An ``I-`` that follows nothing of its type belongs to no span.
- ``lenient`` is that of the script conlleval, and of seqeval unless it is told otherwise: such an
  ``I-`` begins a span, too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Reading = Literal["strict", "lenient"]

Span = tuple[int, int, str]
"""First word, the word behind the last, type."""


def spans_of(tags: Sequence[str], reading: Reading = "strict") -> list[Span]:
    """Return the spans of one sentence, from left to right; they never overlap."""
    spans: list[Span] = []
    first: int = 0
    kind: str | None = None  # of the span that is open; None where none is
    for place, tag in enumerate((*tags, "O")):
        mark, _, kind_of_tag = tag.partition("-")
        if mark == "I" and kind_of_tag == kind:
            continue
        if kind is not None:
            spans.append((first, place, kind))
        begins = mark == "B" or (mark == "I" and reading == "lenient")
        first, kind = place, kind_of_tag if begins else None
    return spans


@dataclass(frozen=True, slots=True)
class SpanScore:
    """Counts of gold, predicted and correct spans; scores of parts add up.

    Attributes:
        correct: Number of spans found with their exact place and type.
        predicted: Number of predicted spans.
        gold: Number of gold spans.
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: "SpanScore") -> "SpanScore":
        return SpanScore(
            self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold
        )

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall; NaN where neither is defined."""
        return (
            2 * self.correct / (self.predicted + self.gold)
            if self.predicted + self.gold
            else float("nan")
        )


def span_score(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], reading: Reading = "strict"
) -> SpanScore:
    """Score all sentences, each with its gold and its predicted tags.

    Raises:
        ValueError: A sentence has different numbers of gold and predicted tags.
    """
    total = SpanScore()
    for right, tried in zip(gold, predicted, strict=True):
        if len(right) != len(tried):
            raise ValueError(f"{len(right)} gold tags for {len(tried)} that were found")
        gold_spans, predicted_spans = set(spans_of(right, reading)), set(spans_of(tried, reading))
        total += SpanScore(len(gold_spans & predicted_spans), len(predicted_spans), len(gold_spans))
    return total
