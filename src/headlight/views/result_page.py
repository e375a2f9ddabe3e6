"""The page of a result, and what a terminal shows of it.

Page of the result of each study: its tables, its pictures, its summary.
There is one module for each study, with ``sections(result)``, ``summary(result)`` and, if it likes,
``findings(result)``; everything else is made of these.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from inspect import signature
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.catalogue import find_study
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.files import printable
from headlight.findings import equal_to_weight
from headlight.findings.candidates import NOT_UNDERSTOOD, is_understood
from headlight.findings.what_was_read import counted, has_interval, what_was_read
from headlight.result.estimate import MOVED
from headlight.result.kinds import MULTI_KIND, split_for_display, split_kinds
from headlight.views import run_comparison
from headlight.views.colour import grouped
from headlight.views.parts import Drawing, Section, Summary, Table
from headlight.views.provenance import Subject
from headlight.views.reading import (
    explanation,
    flow,
    patching,
    picture as alternatives,
    prediction,
    sources,
)
from headlight.views.reading.page import reading_page
from headlight.views.run_comparison import NO_PAGES, PassagePages
from headlight.views.sections import SectionPage, section_page
from headlight.views.terminal import TOP, bullet, terminal, terminal_table
from headlight.vocabulary import ATTENTION, NUMBERING, measure_table

__all__ = [
    "answers",
    "findings",
    "pictures",
    "result_page",
    "sections",
    "study_page",
    "summary",
    "tables",
]

_NO_STUDIES: dict[object, Any] = {
    "prediction": prediction,
    "comparison": run_comparison,
    "flow_of_text": flow,
    "explanation": explanation,
    "alternatives": alternatives,
    "sources": sources,
    "patching": patching,
}
"""Results that are of no study, by their stage, and what shows them."""

FIRST = ("weight_against_norm", "largest_changes", "signals")
"""The picture beside what was found, where a study has one of them."""

Named = TypeVar("Named", Drawing, Table)


def sections(result: xr.Dataset, pages: PassagePages = NO_PAGES) -> list[Section]:
    """The parts of the page of a result; those of several kinds of attention one after the other.

    Args:
        result: Of any study.
        pages: Of texts of which the report of a survey shows passages.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    draw = _module(result).sections
    page_arguments = (pages,) if "pages" in signature(draw).parameters else ()
    return [
        _of_kind(section, part.attrs["kind"]) if MULTI_KIND in part.attrs else section
        for part in split_for_display(result)
        for section in draw(part, *page_arguments)
    ]


def summary(result: xr.Dataset) -> Summary:
    """The few numbers that say what was found, by name; of several kinds with that of the kind.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    module = _module(result)
    return {
        f"{part.attrs['kind']}_{name}" if MULTI_KIND in part.attrs else name: value
        for part in split_for_display(result)
        for name, value in module.summary(part).items()
    }


def findings(result: xr.Dataset) -> list[str]:
    """Return the findings, a sentence each; of several kinds of attention with the kind before it.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    return [
        f"{ATTENTION[part.attrs['kind']]}: {finding}" if MULTI_KIND in part.attrs else finding
        for part in split_for_display(result)
        for finding in answers(part)
    ]


def answers(result: xr.Dataset) -> list[str]:
    """Return the findings, a sentence each; none where the page of the study has no ``findings``.

    Args:
        result: Of any study, of one kind of attention.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    if not is_understood(result):
        return [NOT_UNDERSTOOD]
    answer = getattr(_module(result), "findings", None)
    return list(answer(_without_intervals_of_too_few(result))) if answer else []


def _without_intervals_of_too_few(result: xr.Dataset) -> xr.Dataset:
    """Resamples of a single text are all alike, which says nothing of others."""
    if has_interval(result):
        return result
    ends = [name for name in map(str, result.variables) if name.endswith(("low", "high", MOVED))]
    return result.assign({name: result[name] * np.nan for name in ends})


def tables(result: xr.Dataset, all_sections: Iterable[Section] | None = None) -> dict[str, Table]:
    """All tables of a result by name, the main one first."""
    of = sections(result) if all_sections is None else all_sections
    return {table.name: table for section in of for table in section.tables}


def pictures(result: xr.Dataset) -> dict[str, Drawing]:
    """All pictures of a result by name, the main one first."""
    return {drawing.name: drawing for section in sections(result) for drawing in section.drawings}


def result_page(
    result: xr.Dataset, command: str | None = None, pages: PassagePages = NO_PAGES
) -> str:
    """The page of any result as one self-contained HTML page.

    Args:
        result: Of a study, or a reading.
        command: The exact command that made it; by default the one the result remembers.
        pages: Of texts from which the report of a survey shows passages.

    Raises:
        UnknownNameError: it is no result of Headlight.
    """
    stage = result.attrs.get("stage")
    if stage == "reading":
        return reading_page(result)
    return study_page(result, command, pages)


def study_page(
    result: xr.Dataset,
    command: str | None = None,
    pages: PassagePages = NO_PAGES,
    all_sections: Sequence[Section] | None = None,
) -> str:
    """The result of a study as one self-contained HTML page.

    Args:
        result: Of any study.
        command: The exact command that made it; by default the one the result remembers.
        pages: Of texts from which the report of a survey shows passages.
        all_sections: Its sections, where they are known.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    attributes, read = result.attrs, what_was_read(result)
    parts = split_for_display(result)
    all_sections = sections(result, pages) if all_sections is None else all_sections
    return section_page(
        SectionPage(
            title=str(attributes.get("title", attributes["stage"])),
            introduction=_introduced(result),
            read=read.sentence,
            cautions=read.cautions,
            findings=findings(result),
            first=() if len(parts) > 1 else FIRST,
            terms=_terms(result),
            kinds=[str(part.attrs["kind"]) for part in parts] if len(parts) > 1 else [],
            sections=all_sections,
            facts=[(name, grouped(number)) for name, number in counted(result)] + _sizes(result),
            attributes=attributes,
            command=command or "",
            kind=str(attributes["stage"]).replace("_", " ")
            if attributes["stage"] in _NO_STUDIES or _question(attributes["stage"])
            else f"study · {str(attributes['stage']).replace('_', ' ')}",
        )
    )


def _introduced(result: xr.Dataset) -> Markup:
    """Return the model and the corpus in a sentence; each name has a direction of its own."""
    about = Subject.of(result)
    name = Markup("<bdi>{}</bdi>").format
    read = "" if about.corpus is None else Markup(" reading {}").format(name(about.corpus))
    return Markup("{}{}{}.").format(about.kind, name(about.model), read)


def _terms(result: xr.Dataset) -> list[tuple[str, str, str]]:
    """The measures of attention that a result is of."""
    names = set(map(str, result.coords.get("measure", xr.DataArray([])).values.ravel()))
    equalities = [equal_to_weight(part) for part in split_kinds(result).values()]
    more = {"effective": f"; {equalities[0]}"} if all(equalities) else {}
    return [
        (row.title, row.meaning + more.get(row.name, ""), row.source)
        for row in measure_table()
        if row.name in names
    ]


def _sizes(result: xr.Dataset) -> list[tuple[str, str]]:
    """Return the numbers of layers and heads, and the kind of attention."""
    sizes = []
    if {"layer", "head"} <= set(result.sizes):
        sizes.append(("layers × heads", f"{result.sizes['layer']} × {result.sizes['head']}"))
    kind = str(result.attrs.get("kind", ""))
    return [*sizes, ("attention", kind)] if kind else sizes


def _of_kind(section: Section, kind: str) -> Section:
    """A section beside those of other kinds: names, titles and captions say which it is."""

    def named(part: Named) -> Named:
        caption = f"{kind}: {part.caption}" if part.caption else ""
        return replace(part, name=f"{kind}-{part.name}", caption=caption)

    return replace(
        section,
        name=f"{kind}-{section.name}",
        title=f"{ATTENTION[kind]}: {section.title[0].lower()}{section.title[1:]}",
        drawings=[named(drawing) for drawing in section.drawings],
        tables=[named(table) for table in section.tables],
        group=kind,
    )


def _question(stage: object) -> Question | None:
    """Return the question of another package whose answer it is."""
    question = questions().get(str(stage))
    return question if question and question.shown and question.name not in QUESTIONS else None


def _module(result: xr.Dataset) -> Any:
    stage = result.attrs.get("stage")
    if stage in _NO_STUDIES:
        return _NO_STUDIES[stage]
    if (question := _question(stage)) is not None:
        return question.view
    return find_study(str(result.attrs.get("stage", ""))).page


def study_terminal(result: xr.Dataset) -> RenderableType:
    """The result of any study in short.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    parts = split_for_display(result)
    drawn = terminal_table if result.attrs.get("stage") == "survey" else _short
    read = what_was_read(result)
    lines: list[RenderableType] = [Text(printable(read.sentence))] if read.sentence else []
    lines += [Text(printable(caution), style="bold yellow") for caution in read.cautions]
    if result.attrs.get("stage") != "survey":  # whose own table says it
        lines += [bullet(each) for each in findings(result)]
    lines += [each for part in parts for each in (Text(), drawn(part))]
    blank = isinstance(lines[0], Text) and not lines[0].plain
    return Group(*lines[blank:])


def _short(result: xr.Dataset) -> RenderableType:
    """The main table of one kind of attention, and its few numbers where no sentence says them."""
    parts: list[RenderableType] = [Text(printable(str(Subject.of(result))), style="bold")]
    main = next((table for table in tables(result).values() if len(table.frame)), None)
    if main is not None:
        parts.append(terminal(main, whole="in the files"))
        if equal := equal_to_weight(result):
            parts.append(Text(f"Effective attention is {equal}.", style="dim"))
        parts += [Text(NUMBERING, style="dim")] * ("head" in main.frame)
    if not findings(result):
        frame = pd.DataFrame(summary(result).items(), columns=["", "value"])
        frame[""] = frame[""].str.replace("_", " ")
        parts += [Text(), terminal(Table("summary", "", frame))]
    return Group(*parts)


def answer_terminal(view: ModuleType, answer: xr.Dataset, top: int | None) -> RenderableType:
    """Return the answer to a question of one text: sentences, and its main tables.

    Args:
        view: the module that shows it.
        answer: the dataset.
        top: rows of each table; by default ten.
    """
    lines = [Text(printable(each)) for each in view.findings(answer)]
    main = (section.tables[0] for section in view.sections(answer) if section.tables)
    below = [each for table in main for each in (Text(), terminal(table, top or TOP))]
    return Group(*lines, *below, *[Text(NUMBERING, style="dim")] * bool(below))
