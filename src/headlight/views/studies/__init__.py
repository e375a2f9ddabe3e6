"""How the result of each study is shown: its tables, its pictures, its summary and its page.

There is one module for each study, with ``sections(result)`` and ``summary(result)``; everything
else is made of these.
"""

from collections.abc import Iterable
from dataclasses import replace
from numbers import Real
from typing import Any, TypeVar

import xarray as xr

from headlight.catalogue import find_study
from headlight.kinds import BESIDE, shown_parts
from headlight.views.exhibits import Exhibit, ExhibitsPage, Picture, Table, exhibits_page
from headlight.views.numbers import grouped
from headlight.views.page import reading_page
from headlight.views.parts import Drawing, Section, Summary
from headlight.views.passages import PassagePages
from headlight.views.pictures import svg_text
from headlight.views.survey_report import NO_PAGES, report
from headlight.views.words import subject
from headlight.vocabulary import ATTENTION

Named = TypeVar("Named", Drawing, Table)

COUNTED = ("examples", "sentences", "sequences", "words", "tokens")
"""Attributes that say how much was read, as a page shows them."""

__all__ = ["pictures", "result_page", "sections", "study_page", "summary", "tables"]


def sections(result: xr.Dataset) -> list[Section]:
    """The parts of the page of a result; those of several kinds of attention one after the other.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    module = _module(result)
    return [
        _of_kind(section, part.attrs["kind"]) if BESIDE in part.attrs else section
        for part in shown_parts(result)
        for section in module.sections(part)
    ]


def summary(result: xr.Dataset) -> Summary:
    """The few numbers that say what was found, by name; of several kinds with that of the kind.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    module = _module(result)
    return {
        f"{part.attrs['kind']}_{name}" if BESIDE in part.attrs else name: value
        for part in shown_parts(result)
        for name, value in module.summary(part).items()
    }


def tables(result: xr.Dataset) -> dict[str, Table]:
    """All tables of a result by name, the main one first."""
    return {table.name: table for section in sections(result) for table in section.tables}


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
    return report(result, command, pages) if stage == "survey" else study_page(result, command)


def study_page(result: xr.Dataset, command: str | None = None) -> str:
    """The result of a study as one self-contained HTML page.

    Args:
        result: Of any study.
        command: The exact command that made it; by default the one the result remembers.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    attributes = result.attrs
    return exhibits_page(
        ExhibitsPage(
            title=str(attributes.get("title", attributes["stage"])),
            introduction=f"{subject(result)}.",
            exhibits=[_exhibit(section) for section in sections(result)],
            facts=[
                (name, grouped(float(attributes[name])))
                for name in COUNTED
                if isinstance(attributes.get(name), Real)
            ],
            attributes=attributes,
            command=command or "",
            kind=f"study · {str(attributes['stage']).replace('_', ' ')}",
        )
    )


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


def _module(result: xr.Dataset) -> Any:
    return find_study(str(result.attrs.get("stage", ""))).page


def _exhibit(section: Section) -> Exhibit:
    return Exhibit(
        section.name,
        section.title,
        section.source,
        section.explanation,
        list(_drawn(section.drawings)),
        section.tables,
        group=section.group,
    )


def _drawn(drawings: Iterable[Drawing]) -> Iterable[Picture]:
    for each in drawings:
        yield Picture(each.name, each.caption, each.alternative, svg_text(each.draw()))
