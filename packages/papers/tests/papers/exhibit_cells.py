"""What the cells of an exhibit's CSV file must hold: numbers of the results that it is made from.

Rows are found by what stands in them (a layer, a head, a measure, a model), columns by what is said
of them here, so that a series under another one's name is found out.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas
import xarray
from scipy import stats

from headlight.result import joined, load
from headlight.result.estimate import with_ends

Where = Mapping[str, Any]
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan")


def of_head(name: str) -> Where:
    """The layer and the head that are called ``L7H9 (8-10)``."""
    found = re.fullmatch(r"L(\d+)H(\d+) \((\d+)-(\d+)\)", name)
    assert found, name
    layer, head, *printed = map(int, found.groups())
    assert printed == [layer + 1, head + 1]
    return {"layer": layer, "head": head}


def head_called(layer: float, head: float) -> str:
    """The name of a head, and the paper's in brackets."""
    return f"L{layer:.0f}H{head:.0f} ({layer + 1:.0f}-{head + 1:.0f})"


def itself(dimension: str) -> Callable[[Any], Where]:
    """The coordinate that a cell names."""
    return lambda cell: {dimension: cell}


def named(dimension: str, names: Mapping[Any, Any]) -> Callable[[Any], Where]:
    """The coordinate that a cell has another name for."""
    return lambda cell: {dimension: names[cell]}


READERS: dict[str, Callable[[Any], Where]] = {
    "layer": lambda cell: {"layer": int(cell) - 1},
    "head": of_head,
    "measure": itself("measure"),
}
"""Of the columns that say what a row is about."""


class Results:
    """All results of a reproduction by the names of their files.

    A result with one more measure, such as the gradient, is in a file of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[str, xarray.Dataset] = {}

    def __getitem__(self, name: str) -> xarray.Dataset:
        if name not in self._found:
            self._found[name] = self._load(name)
        return self._found[name]

    def _load(self, name: str) -> xarray.Dataset:
        more = self.folder / "results" / f"{name}-gradient.nc"
        paths = [self.folder / "results" / f"{name}.nc", *([more] if more.exists() else [])]
        found = joined([load(path) for path in paths])
        return with_ends(found, "accuracy") if name.startswith("dependency") else found


@dataclass(frozen=True)
class Cells:
    """Numbers of one variable, a number for each row.

    Attributes:
        variable: of the result.
        where: coordinates, or what other variables along the same axis must be.
        over: axes over which ``how`` is taken.
        how: ``mean``, ``median``, ``max``, ``min``, or a function of all numbers that are left.
        times: 100 for percent.
        result: of another result than the table.
    """

    variable: str
    where: Where = field(default_factory=dict)
    over: Sequence[str] = ()
    how: str | Callable[[Any], float] = "mean"
    times: float = 1
    result: str = ""

    def values(self, found: xarray.Dataset, rows: Sequence[Where]) -> list[float]:
        """The number of each row."""
        return [self._value(found, {**row, **self.where}) for row in rows]

    def _value(self, found: xarray.Dataset, where: Where) -> float:
        values = found[self.variable]
        for name, wanted in where.items():
            if name in values.indexes:
                values = values.sel({name: wanted})
        rest = {name: wanted for name, wanted in where.items() if name not in found.indexes}
        for axis in {str(found[name].dims[0]) for name in rest}:
            chosen = [
                found[name] == one for name, one in rest.items() if found[name].dims == (axis,)
            ]
            values = values.isel({axis: np.logical_and.reduce([each.values for each in chosen])})
        if self.over and isinstance(self.how, str):
            values = getattr(values, self.how)(self.over)
        elif self.over:
            return self.times * self.how(values.values.ravel())
        assert values.size == 1, f"{self.variable}: {values.sizes} are left of {where}"
        return self.times * float(values.item())


SHOWN: Literal["shown"] = "shown"
"""A column that is no number of ours, or is read with another one."""
Column = Cells | Callable[[Any, pandas.DataFrame], Sequence[object]] | Literal["shown"] | None
"""Numbers of a variable; or any texts or numbers, of the result and the table; or a label."""


@dataclass(frozen=True)
class Told:
    """What a table tells.

    Attributes:
        result: the name of the result that it tells of; empty for all `Results`.
        columns: what must stand in each; None where it says what a row is about.
        rows: how such a column is read, besides `READERS`.
        leaves_out: the rows that are about no result.
    """

    result: str
    columns: Mapping[str, Column]
    rows: Mapping[str, Callable[[Any], Where]] = field(default_factory=dict)
    leaves_out: Callable[[pandas.DataFrame], Any] | None = None

    def problems(self, path: Path, results: Results) -> Iterator[str]:
        """What stands in a CSV file and not in the results, or the other way round."""
        frame, texts = (
            pandas.read_csv(path),
            pandas.read_csv(path, dtype=str, keep_default_na=False),
        )
        if self.leaves_out is not None:
            texts = texts[~self.leaves_out(frame)]
            frame = frame[~self.leaves_out(frame)]
        readers = {name: each for name, each in {**READERS, **self.rows}.items() if name in frame}
        labels = {name for name in readers if self.columns.get(name) is None}
        yield from (f"{name} is not told" for name in {*frame} - {*self.columns} - labels)
        yield from (f"{name} is not there" for name in {*self.columns} - {*frame})
        rows = [
            {key: value for name in labels for key, value in readers[name](row[name]).items()}
            for row in frame.to_dict("records")
        ]
        for name, column in self.columns.items():
            if name in frame and column is not None and column != SHOWN:
                expected = self._expected(column, frame, rows, results)
                yield from _differences(name, list(texts[name]), expected)

    def _expected(
        self, column: Any, frame: pandas.DataFrame, rows: Sequence[Where], results: Results
    ) -> list[object]:
        """What must stand in a column."""
        if isinstance(column, Cells):
            return list(column.values(results[column.result or self.result], rows))
        return list(column(results[self.result] if self.result else results, frame))


def _differences(name: str, cells: Sequence[str], expected: Sequence[object]) -> Iterator[str]:
    if len(cells) != len(expected):
        yield f"{name} has {len(cells)} rows in place of {len(expected)}"
        return
    for row, (cell, wanted) in enumerate(zip(cells, expected, strict=True)):
        if not same(cell, wanted):
            yield f"{name}, row {row}: {cell!r} in place of {wanted!r}"


def same(cell: str, wanted: object) -> bool:
    """Whether a cell is a text, has all digits of a number, or holds several, rounded."""
    if isinstance(wanted, str):
        return cell == wanted
    if not isinstance(wanted, tuple):
        number = float(cell) if cell not in ("", "–") else np.nan
        return bool(np.isclose(number, float(wanted), rtol=1e-5, atol=1e-7, equal_nan=True))
    if cell == "–":
        return bool(np.isnan(wanted).all())
    found = NUMBER.findall(cell)
    return len(found) == len(wanted) and all(map(_rounded, found, wanted))


def _rounded(text: str, number: float) -> bool:
    shown = float(text.replace("−", "-"))
    if np.isnan(number) or np.isnan(shown):
        return bool(np.isnan(number) and np.isnan(shown))
    last = 10.0 ** -len(text.partition(".")[2])
    return abs(shown - number) <= 0.500001 * last


def mean_and_half(values: Any) -> tuple[float, ...]:
    """The mean and half of its 95% interval by Student's t; of one value itself."""
    numbers = np.asarray(values, float)
    if len(numbers) < 2:
        return (float(numbers.mean()) if len(numbers) else np.nan,)
    half = stats.t.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / len(numbers) ** 0.5
    return float(numbers.mean()), float(half)
