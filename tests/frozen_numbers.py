"""The numbers of a run as named arrays, and what differs in any bit between two runs.

They are the variables, coordinates and numeric attributes of a study's result; the columns of each
CSV file of a paper, and the numbers on its page beside those that were published.  Nothing is taken
but what users see: results, files and pages.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray
from numpy.typing import NDArray

TIMES = ("seconds", "minutes")
"""Variables and columns that say how long something took."""
COMPARED = ("quantity", "published", "ours")
"""The first columns of the table on a page."""


@dataclass(frozen=True)
class Array:
    """One array with the names of its axes."""

    dims: tuple[str, ...]
    values: NDArray[Any]


Numbers = dict[str, Array]


def of_dataset(result: xarray.Dataset) -> Numbers:
    """Variables, coordinates, and attributes that are numbers, but for times."""
    arrays = {
        str(name): Array(tuple(map(str, each.dims)), each.values)
        for name, each in result.variables.items()
        if name not in TIMES
    }
    numeric = {name: value for name, value in result.attrs.items() if not isinstance(value, str)}
    attributes = {f"attribute {name}": Array((), np.array(each)) for name, each in numeric.items()}
    return arrays | attributes


def of_reproduction(folder: Path, exhibits: Sequence[str]) -> Numbers:
    """Columns of all CSV files, and the numbers on the page beside those that were published.

    Raises:
        AssertionError: the page has not just these exhibits.
    """
    arrays: Numbers = {}
    for path in sorted(folder.glob("*.csv")):
        frame = pandas.read_csv(path)
        for column in frame.columns.difference(TIMES, sort=False):
            arrays[f"{path.name}: {column}"] = Array(("row",), _plain(frame[column]))
    page = Comparisons((folder / "index.html").read_text(encoding="utf-8")).found
    assert list(page) == list(exhibits), "the page has other exhibits"
    for exhibit, rows in page.items():
        for at, column in enumerate(COMPARED if rows else ()):
            cells = np.array([row[at] for row in rows])
            arrays[f"{exhibit} compared: {column}"] = Array(("row",), cells)
    return arrays


def _plain(column: "pandas.Series[Any]") -> NDArray[Any]:
    """Numbers as they are, all else as text."""
    if column.dtype.kind in "iufb":
        return np.asarray(column.values)
    return np.array(["" if pandas.isna(cell) else str(cell) for cell in column], dtype=str)


class Comparisons(HTMLParser):
    """Reads the rows of published numbers beside ours, by exhibit, from a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] | None = None
        self._cells: list[str] = []
        self._inside = False
        self._compares = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section" and "exhibit" in (given.get("class") or ""):
            self._rows = self.found.setdefault(str(given["id"]), [])
        if tag == "table":
            self._compares = False
        if tag == "tr":
            self._cells = []
        if tag in ("td", "th"):
            self._cells.append("")
            self._inside = True

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._inside = False
        if tag == "section":
            self._rows = None
        if tag == "tr" and self._rows is not None:
            if self._compares:
                self._rows.append([" ".join(cell.split()) for cell in self._cells])
            elif tuple(self._cells[:3]) == COMPARED:
                self._compares = True


def save_exact(numbers: Numbers, path: Path) -> None:
    """Every bit, as NPZ, beside the names of axes, as JSON."""
    names = {f"a{at}": name for at, name in enumerate(numbers)}
    arrays = {key: _storable(numbers[name].values) for key, name in names.items()}
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    about = {key: [name, *numbers[name].dims] for key, name in names.items()}
    path.with_suffix(".json").write_text(json.dumps(about), encoding="utf-8")


def load_exact(path: Path) -> Numbers:
    """What `save_exact` saved."""
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    with np.load(path.with_suffix(".npz")) as arrays:
        return {name: Array(tuple(dims), arrays[key]) for key, (name, *dims) in about.items()}


def _storable(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind in "iufb" else values.astype(str)


def exact_differences(expected: Numbers, found: Numbers) -> Iterator[str]:
    """What differs in any bit, a sentence each."""
    gone = {name: each for name, each in expected.items() if name not in found}
    for name, each in found.items():
        values = _storable(each.values)
        if name not in expected:
            same = [old for old, was in gone.items() if _bits(was.values) == _bits(values)]
            yield f"{name} is new" + (f" (the bits of {', '.join(same)})" if same else "")
            continue
        old = expected[name]
        if old.dims != each.dims or old.values.shape != values.shape:
            yield (
                f"{name}: {dict(zip(old.dims, old.values.shape, strict=True))} became "
                f"{dict(zip(each.dims, values.shape, strict=True))}"
            )
        elif _bits(old.values) != _bits(values):
            yield f"{name}: {_how_far(old.values, values)}"
    yield from (f"{name} is gone" for name in gone)


def _bits(values: NDArray[Any]) -> tuple[str, bytes]:
    kind = values.dtype.str if values.dtype.kind in "iufb" else "text"
    if kind == "text":
        return kind, "\n".join(values.ravel().tolist()).encode()
    return kind, np.ascontiguousarray(values).tobytes()


def _how_far(was: NDArray[Any], now: NDArray[Any]) -> str:
    if was.dtype.kind != now.dtype.kind or was.dtype.kind not in "iufb":
        changed = np.flatnonzero((was.astype(str) != now.astype(str)).ravel())
        if not changed.size:
            return f"its type was {was.dtype}, is {now.dtype}"
        at = changed[0]
        return f"{changed.size} differ, the first was {was.flat[at]!r}, is {now.flat[at]!r}"
    a, b = was.astype(float), now.astype(float)
    apart = np.where(np.isnan(a) & np.isnan(b), 0, abs(a - b))
    at = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    kinds = "" if was.dtype == now.dtype else f" (was {was.dtype}, is {now.dtype})"
    return (
        f"{int((apart != 0).sum())} of {a.size} differ, most where {was.flat[at]!r} became "
        f"{now.flat[at]!r}{kinds}"
    )
