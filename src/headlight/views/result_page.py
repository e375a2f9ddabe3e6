"""Page of a result, of any study or of a text."""

from collections.abc import Sequence

import xarray as xr
from markupsafe import Markup

from headlight.findings import equal_to_weight
from headlight.findings.what_was_read import counted, what_was_read
from headlight.result.kinds import split_for_display, split_kinds
from headlight.views.number_formats import grouped
from headlight.views.parts import Section
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.reading.page import reading_page
from headlight.views.result_contents import (
    VIEWS_WITHOUT_STUDY,
    findings,
    headline,
    question_of,
    sections,
)
from headlight.views.section_pages import SectionPage, section_page
from headlight.views.titles import Subject
from headlight.vocabulary import measure_table


def result_page(
    result: xr.Dataset, command: str | None = None, pages: PassagePages = NO_PAGES
) -> str:
    """Return any result as one self-contained HTML page.

    Args:
        result: Result of a study, or a reading.
        command: Exact command that made it; by default that stored in the result.
        pages: Pages of texts from which the report of a survey shows passages.

    Raises:
        UnknownNameError: It is no result of Headlight.
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
    """Return the result of a study as one self-contained HTML page.

    Args:
        result: Result of any study.
        command: Exact command that made it; by default that stored in the result.
        pages: Pages of texts from which the report of a survey shows passages.
        all_sections: Sections of the page, where they are known.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    attributes, read = result.attrs, what_was_read(result)
    parts = split_for_display(result)
    all_sections = sections(result, pages) if all_sections is None else all_sections
    said = findings(result)
    return section_page(
        SectionPage(
            title=str(attributes.get("title", attributes["stage"])),
            introduction=_introduced(result),
            read=read.sentence,
            cautions=read.cautions,
            findings=said,
            headline=headline(result, all_sections, pages, said),
            terms=_terms(result),
            kinds=[str(part.attrs["kind"]) for part in parts] if len(parts) > 1 else [],
            sections=all_sections,
            facts=[(name, grouped(number)) for name, number in counted(result)] + _sizes(result),
            attributes=attributes,
            command=command or "",
            kind=str(attributes["stage"]).replace("_", " ")
            if attributes["stage"] in VIEWS_WITHOUT_STUDY or question_of(attributes["stage"])
            else f"study · {str(attributes['stage']).replace('_', ' ')}",
        )
    )


def _introduced(result: xr.Dataset) -> Markup:
    """Return the model and the corpus in a sentence; each name has a direction of its own."""
    about = Subject.from_result(result)
    name = Markup("<bdi>{}</bdi>").format
    read = "" if about.corpus is None else Markup(" reading {}").format(name(about.corpus))
    return Markup("{}{}{}.").format(about.kind, name(about.model), read)


def _terms(result: xr.Dataset) -> list[tuple[str, str, str]]:
    """Return the measures of attention that a result holds."""
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
