"""Exhibits: the tables and figures of a paper, each with the published number beside ours."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from headlight.errors import UsageError


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
    """

    name: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    highlight: Collection[tuple[int, str]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, with the words that stand for it where it cannot be seen."""

    name: str
    caption: str
    alternative: str
    svg: str


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


@dataclass(frozen=True, slots=True)
class ExhibitsPage:
    """Everything on the page of one paper.

    Attributes:
        title: Of the page.
        introduction: A paragraph under it.
        exhibits: In the order of the page.
        facts: Label and value of the few numbers that say what was read.
        missing: Name of each exhibit that is not there, and why.
        attributes: Provenance, as in a result: model, revision, corpus, versions, settings, ...
        command: The exact command that made the page.
    """

    title: str
    introduction: str
    exhibits: Sequence[Exhibit]
    facts: Sequence[tuple[str, str]] = ()
    missing: Sequence[tuple[str, str]] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        names = [exhibit.name for exhibit in self.exhibits]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(
                f"exhibits share the name {twice[0]!r}; give each exhibit of a page its own."
            )
