"""The parts of a page: sections with pictures, tables and the numbers of a paper beside ours."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup

from headlight.errors import UsageError
from headlight.findings.wording import listed
from headlight.views.numbers import MINUS, MISSING
from headlight.views.pictures import svg_text

Figure = Any
"""Of matplotlib, which is loaded when one is drawn."""

Summary = dict[str, float | int | str]
"""The few numbers that say what was found, by name."""


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
        sums: Columns whose numbers add up, which a terminal says.
        most: Rows that a page shows, the first ones; 0 for all.
        smallest_first: Whether of heads those with the smallest numbers matter most, as distances.

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


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is drawn when a page or a file needs it.

    Attributes:
        name: By which it is asked for.
        caption: What it shows.
        alternative: The words that stand for it where it cannot be seen.
        draw: Makes the matplotlib figure.
        choice: Of pictures that are shown in turn, the label by which this one is chosen.
        drawn: The SVG, where it has been written already.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Figure]
    choice: str = ""
    drawn: str = ""

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.drawn or svg_text(self.draw())


@dataclass(frozen=True, slots=True)
class Section:
    """One question that a study answers, or one table or figure of a paper.

    Attributes:
        name: The anchor on the page; unique there.
        title: What it shows, in a few words.
        explanation: How to read it.
        source: The paper that it follows, and where there.
        drawings: Drawn in this order.
        tables: Shown in this order.
        comparisons: Published numbers beside ours.
        notes: Where model or data differ from the paper's, a sentence each.
        files: Names relative to the page, e.g. ``figure-2.csv``.
        group: The kind of attention, where a page has several; only heads of one are the same.
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
