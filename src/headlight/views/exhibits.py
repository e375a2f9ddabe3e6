"""Exhibits: the tables and figures of a paper, each with the published number beside ours."""

import math
import re
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pandas as pd
from markupsafe import Markup

from headlight.errors import UsageError
from headlight.findings.wording import listed
from headlight.views.frames import frame_cells, numeric_columns
from headlight.views.numbers import MINUS, MISSING
from headlight.views.provenance import provenance
from headlight.views.script import HEADS, joined_script
from headlight.views.template import render


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what it shows, the number it is sorted by (None for none), and its CSS class."""

    text: str
    order: int | float | None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column, with its CSS class."""

    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class SortableTable:
    """A table whose first column names its rows; ``ordered`` says that they are in its order."""

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
STANDS = 4
"""A table of one row and more columns than these is shown with a row for each column."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of a paper and ours.

    Attributes:
        quantity: What is compared, e.g. ``dobj, best head``.
        published: The paper's value; text such as ``8-10`` where it is no number, None for none.
        ours: Our value, in the same unit; None where it could not be computed.
        unit: Of both, e.g. ``%`` or ``nats``.
        note: What has to be known to compare the two.
        digits: Decimals of our value and of the difference.
    """

    quantity: str
    published: float | int | str | None
    ours: float | int | str | None
    unit: str = ""
    note: str = ""
    digits: int = 1

    @property
    def difference(self) -> float | None:
        """Ours minus the published value, where both are finite numbers."""
        if isinstance(self.published, str | None) or isinstance(self.ours, str | None):
            return None
        difference = float(self.ours) - float(self.published)
        return difference if math.isfinite(difference) else None

    @property
    def texts(self) -> tuple[str, str, str]:
        """The published value, ours and the difference, as they are shown."""
        difference = self.difference
        return (
            self._written(self.published, "g"),
            self._written(self.ours, f".{self.digits}f"),
            MISSING if difference is None else self._signed(difference),
        )

    def _signed(self, difference: float) -> str:
        """With its sign; nothing has none."""
        rounded = round(difference, self.digits)
        return f"{rounded:+.{self.digits}f}".replace("-", MINUS) if rounded else "0"

    def _written(self, value: float | int | str | None, format: str) -> str:
        if isinstance(value, str):
            return value
        if value is None or math.isnan(value):
            return MISSING
        text = f"{value:{format}}".replace("-", MINUS)
        return f"{text}{self.unit}" if self.unit in ("", "%") else f"{text}\u00a0{self.unit}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of numbers; its first column names the rows, and its index is not shown.

    Attributes:
        name: Part of an anchor and of a file's name, e.g. ``relations``.
        caption: What the table holds.
        frame: The values.
        formats: For some columns a Python format, e.g. ``.1f`` or ``.1%``; a float without one is
            written with about three digits.
        highlight: Row number and column of the cells that stand out.
        note: A sentence under the table.
        around: For some columns half the width of the interval of each row, shown behind it.

    Raises:
        UsageError: two columns have one label.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    highlight: Collection[tuple[int, str]] = ()
    note: str = ""
    around: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = self.frame.columns
        if not labels.is_unique:
            twice = listed([repr(label) for label in labels[labels.duplicated()].unique()])
            raise UsageError(
                f"the table {self.name!r} has several columns called {twice}; give each a label of "
                "its own."
            )


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, with the words that stand for it where it cannot be seen.

    Of several pictures of an exhibit with a `choice`, one is shown at a time, by that label.
    """

    name: str
    caption: str
    alternative: str
    svg: str
    choice: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or figure of a paper as we found it.

    Attributes:
        name: The anchor on the page, e.g. ``figure-2``; unique on a page.
        title: What it shows, in a few words.
        source: Where it is from, e.g. ``Clark et al. (2019), Figure 2``.
        explanation: How to read it.
        pictures: Drawn in this order.
        tables: Shown in this order.
        comparisons: The published numbers beside ours.
        notes: Where model or data differ from the paper's, a sentence each.
        files: Names relative to the page, e.g. ``figure-2.csv``.
        group: Heads of one name are the same in exhibits of one group.
        html: Elements that are neither picture nor table, under the explanation.
        definitions: What an explanation would be too long with; folded away.
    """

    name: str
    title: str
    source: str
    explanation: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Sequence[str] = ()
    files: Sequence[str] = ()
    group: str = ""
    html: Markup = field(default_factory=Markup)
    definitions: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"an exhibit cannot be called {self.name!r}: a name is made of letters, digits and "
                "hyphens, and begins with a letter."
            )


@dataclass(frozen=True, slots=True)
class ExhibitsPage:
    """Everything on the page of one paper.

    Attributes:
        title: Of the page.
        introduction: A paragraph under it.
        read: How much was read, and why not all.
        cautions: What this cannot carry.
        findings: What was found, a sentence each.
        terms: What is measured: its name, what a number says, and where it is defined.
        exhibits: In the order of the page.
        facts: Label and value of the few numbers that say what was read.
        missing: Name of each exhibit that is not there, and why.
        attributes: Provenance, as in a result: model, revision, corpus, versions, settings, ...
        command: The exact command that made the page.
        kind: What kind of page this is, over the title.
        kinds: Groups of exhibits, if those of one group are shown at a time.
    """

    title: str
    introduction: str
    exhibits: Sequence[Exhibit]
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

    def __post_init__(self) -> None:
        names = [exhibit.name for exhibit in self.exhibits]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(
                f"exhibits share the name {twice[0]!r}; give each exhibit of a page its own."
            )


def exhibits_page(page: ExhibitsPage) -> str:
    """All exhibits as one self-contained HTML page.

    It loads nothing from anywhere and works without scripts (which add sorting, the choice of
    colours, rings around the same head in all pictures, and pictures as files); all text from the
    outside is escaped, and pictures are images, in which nothing runs.
    """
    return render(
        "exhibits.html",
        title=page.title,
        kind=page.kind,
        introduction=page.introduction,
        read=page.read,
        cautions=page.cautions,
        findings=page.findings,
        terms=page.terms,
        facts=page.facts,
        kinds=page.kinds,
        surveyed=any(exhibit.html for exhibit in page.exhibits),
        of_heads=any("data-head-pages" in exhibit.html for exhibit in page.exhibits),
        head_script=Markup(joined_script(HEADS)),
        exhibits=[_shown(exhibit) for exhibit in page.exhibits],
        missing=page.missing,
        provenance=provenance(page.attributes, page.command or None),
    )


def _shown(exhibit: Exhibit) -> dict[str, Any]:
    """An exhibit as the template reads it."""
    rows = [
        dict(zip(("published", "ours", "difference"), c.texts, strict=True))
        for c in exhibit.comparisons
    ]
    for row, comparison in zip(rows, exhibit.comparisons, strict=True):
        row |= {"quantity": comparison.quantity, "note": comparison.note}
    return {
        "name": exhibit.name,
        "title": exhibit.title,
        "source": exhibit.source,
        "explanation": exhibit.explanation,
        "definitions": exhibit.definitions,
        "group": exhibit.group,
        "html": exhibit.html,
        "pictures": list(map(_pictured, exhibit.pictures)),
        "comparisons": rows,
        "comparison_notes": any(comparison.note for comparison in exhibit.comparisons),
        "tables": [_sheet(table, f"{exhibit.name}.{n}") for n, table in enumerate(exhibit.tables)],
        "notes": exhibit.notes,
        # Everything but letters, digits and slashes is quoted: an address can only be a file.
        "files": [(name, quote(name)) for name in exhibit.files],
    }


def _pictured(picture: Picture) -> dict[str, Any]:
    """A picture as the template reads it; its first tag says how wide it is, and its panels."""
    tag = picture.svg[picture.svg.find("<svg") :].split(">", 1)[0]
    panels, columns, wide = (found.search(tag) for found in _ABOUT.values())
    return {
        "name": picture.name,
        "caption": picture.caption,
        "alternative": picture.alternative,
        "choice": picture.choice,
        "drawing": b64encode(picture.svg.encode()).decode(),
        "panels": int(panels[1]) if panels else 1,
        "columns": columns[1] if columns else "",
        "wide": round(float(wide[1]) * 4 / 3) if wide else 480,
    }


def _sheet(table: Table, name: str) -> SortableTable:
    """A table as cells; columns of words are set flush left."""
    cells = frame_cells(table.frame, table.formats, table.highlight, table.around)
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
    return SortableTable(name, table.caption, columns, rows, ordered=False, note=table.note)


def _kind(strong: bool, number: bool) -> str:
    return " ".join(name for name, there in (("strong", strong), ("words", not number)) if there)
