"""Sections of a page, with their tables and drawings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from headlight.errors import UsageError
from headlight.findings.phrases import listed
from headlight.views.parts.comparison import Comparison
from headlight.views.pictures import svg_text

Figure = Any
"""Figure of matplotlib, which is loaded when one is drawn."""

Summary = dict[str, float | int | str]
"""The few numbers that summarise the findings, by name."""

PLACES = frozenset({"layer", "head"})
"""Columns that identify the head of a row."""


@dataclass(frozen=True, slots=True)
class Table:
    """Table of numbers; its first column names the rows, and its index is not shown.

    Attributes:
        name: Part of an anchor and of a file's name, e.g. ``relations``.
        caption: Caption of the table.
        frame: Values.
        formats: Python formats of some columns, e.g. ``.1f`` or ``.1%``; a float without a format
            is written with about three digits.
        highlight: Row numbers and columns of the cells that stand out.
        note: Sentence under the table.
        around: Half widths of the intervals of some columns, shown behind the numbers.
        sums: Columns whose numbers add up, which a terminal says.
        most: Rows that a page shows, the first ones; 0 for all.
        smallest_first: Whether heads with the smallest numbers matter most, as for distances.

    Raises:
        UsageError: Two columns have the same label.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    highlight: Collection[tuple[int, str]] = ()
    note: str = ""
    around: Mapping[str, Sequence[float]] = field(default_factory=dict)
    sums: Sequence[str] = ()
    most: int = 0
    smallest_first: bool = False

    def __post_init__(self) -> None:
        labels = self.frame.columns
        if not labels.is_unique:
            twice = listed([repr(label) for label in labels[labels.duplicated()].unique()])
            raise UsageError(
                f"the table {self.name!r} has several columns called {twice}; give each a label of "
                "its own."
            )

    def ranked(self) -> "Table":
        """Return the table with single heads ranked by their first number; others as they stand.

        The largest is first, so that no head is shown for its place alone; parts of a sum stay.
        """
        frame = self.frame.reset_index(drop=True)
        numbers = (name for name in frame if frame[name].dtype.kind == "f" and name not in PLACES)
        by = next(numbers, None)
        if by is None or self.sums or not set(frame.columns) >= PLACES:
            return self
        frame = frame.sort_values(
            str(by), ascending=self.smallest_first, kind="stable", na_position="last"
        )
        order = frame.index.tolist()
        return replace(
            self,
            frame=frame.reset_index(drop=True),
            around={name: [ends[at] for at in order] for name, ends in self.around.items()},
            highlight={(order.index(row), name) for row, name in self.highlight},
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """Picture that is drawn when a page or a file needs it.

    Attributes:
        name: Name by which it is requested.
        caption: Caption of the picture.
        alternative: Words that stand for it where it cannot be seen.
        draw: Function that makes the matplotlib figure.
        choice: Label by which it is chosen among pictures that are shown in turn.
        drawn: SVG, where it has been written already.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Figure]
    choice: str = ""
    drawn: str = ""

    @property
    def svg(self) -> str:
        """Picture as SVG."""
        return self.drawn or svg_text(self.draw())


@dataclass(frozen=True, slots=True)
class Section:
    """Section on a question that a study answers, or on a table or figure of a paper.

    Attributes:
        name: Anchor on the page; unique there.
        title: Title in a few words.
        explanation: Instructions for reading it.
        source: Paper that it follows, and the place there.
        drawings: Pictures in the order of the page.
        tables: Tables in the order of the page.
        comparisons: Published numbers beside ours.
        notes: Differences of model or data from the paper's, as sentences.
        files: Names relative to the page, e.g. ``figure-2.csv``.
        group: Kind of attention, where a page has several; only heads of one kind are the same.
        html: Elements of a page that are neither picture nor table, under the explanation.
    """

    name: str = ""
    title: str = ""
    explanation: str = ""
    source: str = ""
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Sequence[str] = ()
    files: Sequence[str] = ()
    group: str = ""
    html: Markup = field(default_factory=Markup)
