"""Contents of a result: its sections, tables, pictures, findings and summary.

There is a module for each study, with ``sections(result)``, ``summary(result)`` and, optionally,
``findings(result)``, ``headline(result)`` and ``headline_pictures(result)``; everything else is
made of these.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from headlight.catalogue import find_study
from headlight.catalogue.questions import QUESTIONS, Question, questions
from headlight.findings.candidates import NOT_UNDERSTOOD, is_understood
from headlight.findings.what_was_read import has_interval, what_was_read
from headlight.result.estimate import MOVED
from headlight.result.kinds import MULTI_KIND, split_for_display
from headlight.views import run_comparison
from headlight.views.headline import Headline
from headlight.views.parts import Drawing, Section, Summary, Table
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.reading import (
    alternatives,
    explanation,
    flow,
    patching,
    prediction,
    similarity,
    sources,
)
from headlight.views.sentences import sentences_of, title_of
from headlight.views.titles import Subject
from headlight.vocabulary import ATTENTION

VIEWS_WITHOUT_STUDY: dict[object, Any] = {
    "prediction": prediction,
    "comparison": run_comparison,
    "flow_of_text": flow,
    "explanation": explanation,
    "alternatives": alternatives,
    "sources": sources,
    "patching": patching,
    "similarity": similarity,
}
"""Modules that show results of no study, by the stage of the result."""

Named = TypeVar("Named", Drawing, Table)


def sections(result: xr.Dataset, pages: PassagePages = NO_PAGES) -> list[Section]:
    """Return the sections of the page of a result; several kinds of attention follow each other.

    Args:
        result: Result of any study.
        pages: Pages of texts from which the report of a survey shows passages.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    draw = _module(result).sections
    page_arguments = (pages,) if "pages" in signature(draw).parameters else ()
    return [
        _of_kind(section, part.attrs["kind"]) if MULTI_KIND in part.attrs else section
        for part in split_for_display(result)
        for section in draw(part, *page_arguments)
    ]


def summary(result: xr.Dataset) -> Summary:
    """Return the few numbers that summarise the findings, by name (with the kind, if several).

    Raises:
        UnknownNameError: It is the result of no study.
    """
    module = _module(result)
    return {
        f"{part.attrs['kind']}_{name}" if MULTI_KIND in part.attrs else name: value
        for part in split_for_display(result)
        for name, value in module.summary(part).items()
    }


def findings(result: xr.Dataset) -> list[str]:
    """Return the findings as sentences, each behind its kind of attention if there are several.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    return [
        f"{ATTENTION[part.attrs['kind']]}: {finding}" if MULTI_KIND in part.attrs else finding
        for part in split_for_display(result)
        for finding in answers(part)
    ]


def headline(
    result: xr.Dataset,
    all_sections: Sequence[Section] | None = None,
    pages: PassagePages = NO_PAGES,
    said: Sequence[str] | None = None,
) -> Headline | None:
    """Return the answer of a result and what shows it; None where nothing is found.

    By default, and where the module has none, that is the first finding, and the pictures that the
    module shows it with (``headline_pictures(result)``), or else the first picture of the page.

    Args:
        result: Result of any study; of several kinds of attention the first speaks.
        all_sections: Sections of the page, where they are known.
        pages: Pages of texts from which the report of a survey shows passages.
        said: Findings, where they are known.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    part = split_for_display(result)[0]
    answer = getattr(_module(part), "headline", None)
    if answer is not None and is_understood(part):
        page_arguments = (pages,) if "pages" in signature(answer).parameters else ()
        own: Headline | None = answer(_without_intervals_of_too_few(part), *page_arguments)
        if own is not None:
            return _of_kind_named(own, part)
    said = findings(result) if said is None else said
    if not said:
        return None
    all_sections = sections(result) if all_sections is None else all_sections
    drawings = [drawing for section in all_sections for drawing in section.drawings]
    draw = getattr(_module(part), "headline_pictures", None)
    shown = list(draw(_without_intervals_of_too_few(part))) if draw else []
    read = sentences_of(what_was_read(result).sentence)[:1]
    line = " ".join([f"{Subject.from_result(part)}.", *read])
    return Headline(title_of(said[0]), line, shown or drawings[:1])


def answers(result: xr.Dataset) -> list[str]:
    """Return the findings as sentences; none where the page of the study has no ``findings``.

    Args:
        result: Result of any study, of one kind of attention.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    if not is_understood(result):
        return [NOT_UNDERSTOOD]
    answer = getattr(_module(result), "findings", None)
    return list(answer(_without_intervals_of_too_few(result))) if answer else []


def _without_intervals_of_too_few(result: xr.Dataset) -> xr.Dataset:
    """Drop intervals of a single text, whose resamples are all alike and say nothing of others."""
    if has_interval(result):
        return result
    ends = [name for name in map(str, result.variables) if name.endswith(("low", "high", MOVED))]
    return result.assign({name: result[name] * np.nan for name in ends})


def tables(result: xr.Dataset, all_sections: Iterable[Section] | None = None) -> dict[str, Table]:
    """Return all tables of a result by name, the main one first."""
    all_sections = sections(result) if all_sections is None else all_sections
    return {table.name: table for section in all_sections for table in section.tables}


def pictures(result: xr.Dataset) -> dict[str, Drawing]:
    """Return all pictures of a result by name, the main one first."""
    return {drawing.name: drawing for section in sections(result) for drawing in section.drawings}


def _of_kind(section: Section, kind: str) -> Section:
    """Return a section whose name, titles and captions tell it from those of other kinds."""

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


def _of_kind_named(found: Headline, part: xr.Dataset) -> Headline:
    """Return a headline whose pictures have the names that they have in the sections."""
    if MULTI_KIND not in part.attrs:
        return found
    pictures = [
        replace(picture, name=f"{part.attrs['kind']}-{picture.name}")
        if isinstance(picture, Drawing)
        else picture
        for picture in found.pictures
    ]
    return replace(found, pictures=pictures)


def question_of(stage: object) -> Question | None:
    """Return the question of another package that a result with this stage answers."""
    question = questions().get(str(stage))
    return question if question and question.shown and question.name not in QUESTIONS else None


def _module(result: xr.Dataset) -> Any:
    stage = result.attrs.get("stage")
    if stage in VIEWS_WITHOUT_STUDY:
        return VIEWS_WITHOUT_STUDY[stage]
    if (question := question_of(stage)) is not None:
        return question.view
    return find_study(str(result.attrs.get("stage", ""))).page
