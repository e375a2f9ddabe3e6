"""Tables of a page that can be sorted."""

from dataclasses import dataclass


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
