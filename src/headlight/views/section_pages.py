"""Sections of a study, a paper or anything else as one self-contained HTML page."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from headlight.errors import UsageError
from headlight.views.headline import BarList, Block, Headline, bars_html
from headlight.views.page_scripts import HEADS, joined_script
from headlight.views.parts.section import Drawing, Section, Table
from headlight.views.provenance import provenance
from headlight.views.sentences import lead_and_rest
from headlight.views.table_cells import frame_cells, numeric_columns
from headlight.views.template import render
from headlight.views.titles import isolated_quotes


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell with its text, the number that it is sorted by (None for none), and its CSS class."""

    text: str
    order: int | float | None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """Head of a column, with its CSS class."""

    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class SortableTable:
    """Table whose first column names its rows; ``ordered`` says that they are in its order."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    ordered: bool = True
    note: str = ""


_ABOUT = {
    "panels": re.compile(r'data-panels="(\d+)"'),
    "columns": re.compile(r'data-columns="([\d. ]+)"'),
    "wide": re.compile(r' width="([\d.]+)pt"'),
}
_BARS = "data-bars"
_GROW = 1.65, 1.35
"""Factor by which a picture may be larger than in files, of one panel and of several; none for
bars, so that each is 28 pixels high."""
STANDS = 4
"""A table of one row and more columns than these is shown with a row for each column."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class SectionPage:
    """Contents of a page.

    Attributes:
        title: Title of the page.
        introduction: Paragraph under the title.
        read: Amount of text that was read, and the reason if not all was.
        cautions: Conclusions that the page does not support.
        findings: Findings as sentences.
        headline: Answer of the page, which is its title, and the pictures that show it; everything
            else is folded then.
        terms: Measured quantities: name, meaning of a number, and source of the definition.
        sections: Sections in the order of the page.
        facts: Labels and values of the few numbers that describe the texts read.
        missing: Names of absent sections, and the reasons.
        attributes: Provenance as in a result: model, revision, corpus, versions, settings, ...
        command: Exact command that made the page.
        kind: Kind of page, shown over the title.
        kinds: Groups of sections, if the page shows one group at a time.
    """

    title: str
    introduction: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
    missing: Sequence[tuple[str, str]] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    command: str = ""
    kind: str = "tables and figures of a paper"
    terms: Sequence[tuple[str, str, str]] = ()
    kinds: Sequence[str] = ()
    read: str = ""
    cautions: Sequence[str] = ()
    findings: Sequence[str] = ()
    headline: Headline | None = None

    def __post_init__(self) -> None:
        names = [section.name for section in self.sections]
        for name in names:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"a section cannot be called {name!r}: a name is made of letters, digits and "
                    "hyphens, and begins with a letter."
                )
            if names.count(name) > 1:
                raise UsageError(
                    f"sections share the name {name!r}; give each section of a page its own."
                )


def section_page(page: SectionPage) -> str:
    """Return all sections as one self-contained HTML page.

    It loads nothing from anywhere and works without scripts (which add sorting, the choice of
    colours, rings around the same head in all pictures, and pictures as files); all text from the
    outside is escaped, and pictures are images, in which nothing runs.
    """
    headline = page.headline
    return render(
        "exhibits.html",
        headline=headline,
        pictures=[_headline_picture(picture) for picture in headline.pictures] if headline else [],
        title=isolated_quotes(headline.title) if headline else page.title,
        kind=(headline.kind if headline else "") or page.kind,
        study=page.title if headline else "",
        introduction=page.introduction,
        read=page.read,
        cautions=page.cautions,
        findings=page.findings,
        terms=page.terms,
        facts=page.facts,
        kinds=page.kinds,
        surveyed=any(section.html for section in page.sections),
        of_heads=any("data-head-pages" in section.html for section in page.sections),
        head_script=Markup(joined_script(HEADS)),
        exhibits=[_shown(section, headline) for section in page.sections],
        missing=page.missing,
        provenance=provenance(page.attributes, page.command or None),
    )


def _headline_picture(picture: BarList | Block | Drawing) -> dict[str, Any]:
    """Return a picture of the headline as the template reads it."""
    if isinstance(picture, Drawing):
        return {"title": "", "html": "", "note": "", "drawing": _pictured(picture)}
    html = picture.html if isinstance(picture, Block) else bars_html(picture.bars)
    note = picture.note if isinstance(picture, BarList) else ""
    return {"title": isolated_quotes(picture.title), "html": html, "note": note, "drawing": None}


def _shown(section: Section, headline: Headline | None) -> dict[str, Any]:
    """Return a section as the template reads it, without what the headline shows."""
    shown = headline.drawn if headline else ()
    lead, definitions = lead_and_rest(section.explanation)
    rows = [
        dict(zip(("published", "ours", "difference"), comparison.texts, strict=True))
        | {"quantity": comparison.quantity, "note": comparison.note}
        for comparison in section.comparisons
    ]
    return {
        "name": section.name,
        "title": section.title,
        "source": section.source,
        "explanation": lead,
        "definitions": definitions,
        "group": section.group,
        "html": section.html,
        "is_open": headline is None
        or section.name.removeprefix(f"{section.group}-") in headline.opened,
        "pictures": [
            _pictured(picture) for picture in section.drawings if picture.name not in shown
        ],
        "comparisons": rows,
        "comparison_notes": any(comparison.note for comparison in section.comparisons),
        "tables": [_sheet(table, f"{section.name}.{n}") for n, table in enumerate(section.tables)],
        "notes": section.notes,
        # Everything but letters, digits and slashes is quoted: an address can only be a file.
        "files": [(name, quote(name)) for name in section.files],
    }


def _pictured(picture: Drawing) -> dict[str, Any]:
    """Return a picture as the template reads it; its first tag gives its width and its panels."""
    svg = picture.svg
    tag = svg[svg.find("<svg") :].split(">", 1)[0]
    panels, columns, wide = (match.search(tag) for match in _ABOUT.values())
    return {
        "name": picture.name,
        "caption": picture.caption,
        "alternative": picture.alternative,
        "choice": picture.choice,
        # As an image: ids of two SVGs in one page would clash, and nothing in an image runs.
        "drawing": b64encode(svg.encode()).decode(),
        "grow": 1 if _BARS in tag else _GROW[bool(panels and int(panels[1]) > 1)],
        "columns": columns[1] if columns else "",
        # Matplotlib writes points, 72 to the inch; a browser has 96 pixels to it.
        "wide": round(float(wide[1]) * 4 / 3) if wide else 480,
    }


def _sheet(table: Table, name: str) -> SortableTable:
    """Return a table as cells; columns of words are set flush left."""
    table = table.ranked()
    frame = table.frame.head(table.most) if table.most else table.frame
    cells = frame_cells(frame, table.formats, table.highlight, table.around)
    numeric = numeric_columns(cells, len(table.frame.columns))
    columns = [
        Column(str(label), kind="" if number else "words")
        for label, number in zip(table.frame.columns, numeric, strict=True)
    ]
    rows = [
        [
            Cell(cell.text, cell.order, _kind(cell.strong, number))
            for cell, number in zip(row, numeric, strict=True)
        ]
        for row in cells
    ]
    if len(rows) == 1 and len(columns) > STANDS:
        names = [Cell(column.label, None, "words") for column in columns]
        pairs = [list(pair) for pair in zip(names, rows[0], strict=True)]
        columns, rows = [Column("quantity", kind="words"), Column("value")], pairs
    hidden = len(frame) < len(table.frame)
    note = f"The {len(frame):,} largest of {len(table.frame):,}." if hidden else table.note
    return SortableTable(name, table.caption, columns, rows, ordered=False, note=note)


def _kind(strong: bool, number: bool) -> str:
    return " ".join(name for name, on in (("strong", strong), ("words", not number)) if on)
