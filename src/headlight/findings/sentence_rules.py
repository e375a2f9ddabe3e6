"""Rules by which sentences about a result are made: numbers, a test, and templates.

A rule looks up numbers and tests them; it writes no word.  Its templates are filled in by one
writer, so that shares, intervals, heads and what is inconclusive are written alike everywhere.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

import xarray as xr

from headlight.findings.interval_phrases import around, around_first, between, many
from headlight.findings.phrases import layer_list, measure_noun, name_of, number, percent
from headlight.result.estimate import Estimate

Place = tuple[int, ...]
"""Position of a layer along its axis, and of a head; or of a layer alone."""

HOLDS, AFTER = "holds", "after"
"""Names of templates: of a rule that has one alone, and of what follows the sentence of a head."""

_CLAUSE = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Numbers of a result for which a rule holds, as its sentence needs them.

    Attributes:
        values: Values of the fields of the template, by name; None for what is not there.
        importance: Importance from 0 to 1, by which sentences are ranked.
        template: Name of the template, one of those of the rule.
        place: Layer and head that the sentence is about, or a layer alone.
        measure: Measure of the numbers; empty for numbers that belong to none.
        inconclusive: Whether intervals leave open what the sentence says.
        row: Statistic whose head, where one stands out for it, is named in the same sentence.
    """

    values: Mapping[str, Any]
    importance: float = 1.0
    template: str = HOLDS
    place: Place | None = None
    measure: str = ""
    inconclusive: bool = False
    row: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Sentence that a result may support.

    Attributes:
        topic: Topic, which no other rule of a list has.
        evidence: Function of a result that looks up the numbers and tests them; None where the
            rule does not hold.
        templates: Sentences by name, see `write`.
        question: Question of the grid of heads that shows the numbers of a head.
        unless_named: Whether nothing is said of a head that another sentence names.
    """

    topic: str
    evidence: Callable[[xr.Dataset], Evidence | None]
    templates: Mapping[str, str]
    question: str = ""
    unless_named: bool = False


def sentences(result: xr.Dataset, rules: Iterable[Rule]) -> list[str]:
    """Return the sentences of the rules that hold, in their order."""
    return [
        write(result, rule.templates[evidence.template], evidence.values)
        for rule in rules
        if (evidence := rule.evidence(result)) is not None
    ]


def write(result: xr.Dataset, template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template.

    Args:
        result: Result that the sentence is about.
        template: Sentence with fields in braces, each with a form of `FORMS` or of Python. A clause
            in brackets is left out where the value of one of its fields is None or empty.
        values: Values by the names of the fields.
    """
    writer = _Writer(result)

    def clause(match: re.Match[str]) -> str:
        fields = [name for _, name, _, _ in writer.parse(match[1]) if name is not None]
        is_known = all(_is_known(values[name]) for name in fields)
        return match[1] if is_known else ""

    return writer.vformat(_CLAUSE.sub(clause, template), (), values)


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, str | list) and not value)


class _Writer(Formatter):
    def __init__(self, result: xr.Dataset) -> None:
        self.result = result

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in FORMS:
            return FORMS[format_spec](self.result, value)
        return str(super().format_field(value, format_spec))


def two_decimals(value: float) -> str:
    """Write a number with two decimals: ``0.31``, ``−0.05``."""
    return f"{value:.2f}".replace("-", "\u2212")


def _name(result: xr.Dataset, place: Place) -> str:
    # A survey may hold some layers only; they keep the numbers that the model has for them.
    return name_of(result, int(result["layer"].values[place[0]]), *place[1:])


FORMS: Mapping[str, Callable[[xr.Dataset, Any], str]] = {
    # Of an estimate of one number: with its interval, alone, and the interval alone.
    "share": lambda _, value: f"{percent(float(value.value))}{around(value)}",
    "percent": lambda _, value: percent(float(getattr(value, "value", value))),
    "interval": lambda _, value: around(value),
    "estimate": lambda _, value: f"{number(float(value.value))}{_ends(value)}",
    "number": lambda _, value: number(float(getattr(value, "value", value))),
    "ends": lambda _, value: _ends(value),
    "decimal": lambda _, value: (
        f"{two_decimals(float(value.value))}{around(value, two_decimals, share=False)}"
    ),
    "nats": lambda _, value: (
        f"{two_decimals(float(value.value))} nats{around(value, two_decimals, share=False)}"
    ),
    # Of the numbers of which the largest is named.
    "ends_of_first": lambda _, numbers: around_first(numbers, number, share=False),
    # Of places, names, layers and verdicts.
    "name": _name,
    "noun": lambda _, measure: measure_noun(measure),
    "names": lambda result, places: between([_name(result, place) for place in places]),
    "layers": lambda _, layers: layer_list(layers),
    "count": lambda _, verdicts: many(verdicts),
    "heads": lambda _, verdicts: many(verdicts, "head"),
}
"""Forms of the fields of templates, as functions of the result and of the value."""


def _ends(value: Estimate) -> str:
    return around(value, number, share=False)
