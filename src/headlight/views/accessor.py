"""Accessor of a result: ``result.headlight.interval(name)``, ``.table()``, ``.plot()``.

xarray finds the accessor once this module has been imported, as every part of Headlight that
returns a result has done.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from headlight import files
from headlight.catalogue import statistic, statistic_table
from headlight.errors import HeadlightError, ResultError, UnknownNameError, UsageError
from headlight.findings import head_scores, heads
from headlight.findings.statistics import number_of_heads
from headlight.findings.what_was_read import same_texts
from headlight.result import refusing_incomplete
from headlight.result.estimate import LEVEL, MOVED, Estimate, estimate_of, slot_coordinates
from headlight.result.kinds import of_kind
from headlight.views.result_contents import findings, pictures, summary, tables
from headlight.views.result_page import result_page

T = TypeVar("T")

FINDINGS, ROWS = 3, 10
"""Sentences and rows of a table that are shown where a result is printed."""


@xr.register_dataset_accessor("headlight")  # type: ignore[no-untyped-call]
class HeadlightAccessor:
    """Accessor of the intervals, tables, pictures and page of a result."""

    def __init__(self, result: xr.Dataset) -> None:
        self._result = result

    def __repr__(self) -> str:
        """Return the findings, and the names of all tables and pictures."""
        return "\n".join(self._shown())

    def _repr_html_(self) -> str:
        """Return the findings and the main table, for a notebook."""
        *sentences, names = map(escape, self._shown())
        main = next(iter(self.tables), None)
        table = "" if main is None else self.table(main).head(ROWS).to_html(index=False, border=0)
        return f"<p>{'<br>'.join(sentences)}</p>{table}<p>{names}</p>"

    def _shown(self) -> list[str]:
        """Return the first findings, and a last line with the names of tables and plots."""
        sentences = self._whole(findings)
        more = [f"… and {len(sentences) - FINDINGS} more"] if len(sentences) > FINDINGS else []
        title = str(self._result.attrs.get("title", self._result.attrs.get("stage", "")))
        names = f"tables: {', '.join(self.tables)}; plots: {', '.join(self.plots)}"
        return [title, *sentences[:FINDINGS], *more, names]

    def heads(
        self,
        behaviour: str | None = None,
        *,
        by: str | None = None,
        without_first: bool = False,
    ) -> pd.DataFrame:
        """Return the heads of a survey, ranked by how much they do one thing.

        Without a behaviour it lists those that the survey can rank heads by. What can be requested
        and what is refused is said by `headlight.findings.heads`.
        """
        return heads(self._result, behaviour, by=by, without_first=without_first)

    def of_kind(self, kind: str) -> xr.Dataset:
        """Return one kind of attention of a result of all kinds, as if requested alone.

        Raises:
            UnknownNameError: The result has no such kind.
        """
        return of_kind(self._result, kind)

    @property
    def tables(self) -> list[str]:
        """Names of all tables, the main one first."""
        return list(self._whole(tables))

    @property
    def plots(self) -> list[str]:
        """Names of all pictures, the main one first."""
        return list(self._whole(pictures))

    def summary(self) -> dict[str, float | int | str]:
        """Return the few numbers that summarise the findings."""
        return self._whole(summary)

    @property
    def numbers(self) -> list[str]:
        """Names of the numbers with an interval: variables, and of a survey what ranks heads."""
        variables = [
            name.removesuffix(MOVED)
            for name in slot_coordinates(self._result)
            if name.endswith(MOVED)
        ]
        rows = statistic_table() if self._result.attrs.get("stage") == "survey" else ()
        rankings = [
            name
            for row in rows
            if number_of_heads(self._result, row) is not None
            for name in (row.name, *row.also)
        ]
        return list(dict.fromkeys([*variables, *rankings]))

    def table(self, name: str | None = None) -> pd.DataFrame:
        """Return a table of the study, by default the main one.

        Args:
            name: Name of a table (`tables`); or of a number (`numbers`), with a row for each place
                on its axes, and ``value``, ``low`` and ``high``, the ends of its interval of 95%.

        Raises:
            UnknownNameError: There is no such table, or the dataset is the result of no study.
        """
        by_name = self._whole(tables)
        if name is None or name in by_name:
            return by_name[_chosen("table", name, list(by_name))].frame.copy()
        numbers = self.numbers
        if name not in numbers:
            raise UnknownNameError("table", name, [*by_name, *numbers])
        return self._number_table(name)

    def _number_table(self, name: str) -> pd.DataFrame:
        """Return a number with a row for each place on its axes."""
        number, array = self._number(name)
        low, high = number.interval()
        columns = {"value": array.values, "low": low, "high": high}
        if not array.dims:
            return pd.DataFrame([{key: float(value) for key, value in columns.items()}])
        along = {dim: array[dim].values for dim in array.dims}
        cells = {key: (array.dims, values) for key, values in columns.items()}
        return xr.Dataset(cells, along).to_dataframe().reset_index()

    def plot(self, name: str | None = None) -> Any:
        """Return a picture of the study as a matplotlib figure, by default the main one.

        Raises:
            UnknownNameError: There is no such picture, or the dataset is the result of no study.
        """
        by_name = self._whole(pictures)
        return by_name[_chosen("picture", name, list(by_name))].draw()

    def interval(self, name: str, level: float = LEVEL) -> xr.Dataset:
        """Return the interval of a number over the corpus, as ``low`` and ``high`` on its axes.

        The result may be a part that was chosen with ``sel``. The interval is NaN where the corpus
        is too small to know one: 5 blocks of documents or texts must hold something of the number,
        and 10 where the number has no upper bound.

        Args:
            name: Name of a number (`numbers`): a variable, or of a survey what `heads` ranks by.
            level: Probability that intervals of such corpora hold the number.

        Raises:
            UnknownNameError: The result keeps no interval of such a number.
        """
        number, array = self._number(name)
        ends = zip(("low", "high"), number.interval(level), strict=True)
        return xr.Dataset({end: (array.dims, values) for end, values in ends}, array.coords)

    def difference(self, other: xr.Dataset, name: str, level: float = LEVEL) -> xr.Dataset:
        """Return this number less that of another result, with the uncertainty of the difference.

        Where both have read the same texts, the influence of the texts on both cancels.

        Args:
            other: Result of the same study, with the same labels.
            name: Name of a number (`numbers`).
            level: Probability that intervals of such corpora hold the difference.

        Returns:
            ``difference``, its interval ``low`` and ``high``, and ``p_value``, the probability of
            such a difference where there is none; NaN where texts are too few to know.

        Raises:
            UnknownNameError: A result keeps no interval of such a number.
            UsageError: The axes or labels of the two differ.
        """
        first, mine = self._number(name)
        second, theirs = HeadlightAccessor(other)._number(name)
        dims = mine.dims
        named = [dim for dim in dims if dim in mine.coords]
        if (
            dims != theirs.dims
            or mine.shape != theirs.shape
            or not all(np.array_equal(mine[dim].values, theirs[dim].values) for dim in named)
        ):
            raise UsageError(
                f"the two results have other axes or labels of {name!r}; choose what both have "
                "with sel."
            )
        apart = first.minus(second, paired=same_texts([self._result, other]))
        low, high = apart.interval(level)
        numbers = {"difference": apart.value, "low": low, "high": high, "p_value": apart.p_value()}
        return xr.Dataset({key: (dims, values) for key, values in numbers.items()}, mine.coords)

    def _number(self, name: str) -> tuple[Estimate, xr.DataArray]:
        """Return a number with its uncertainty, and the number alone, on its axes."""
        estimate = estimate_of(self._result, name)
        if estimate is not None:
            return estimate, self._result[name]
        is_ranking = self._result.attrs.get("stage") == "survey" and name in head_scores()
        ranking = number_of_heads(self._result, statistic(name)) if is_ranking else None
        if ranking is None:
            raise UnknownNameError("number with an interval", name, self.numbers)
        return ranking

    def report(self, path: Path | str) -> Path:
        """Write the page of the result: one HTML file that needs nothing else.

        Returns:
            The path.

        Raises:
            UsageError: The name does not end in ``.html``.
            UnknownNameError: The dataset is no result of Headlight.
            ResultError: The file cannot be written.
        """
        path = Path(path)
        if path.suffix != ".html":
            raise UsageError(f"{path}: the name of this file must end in .html.")
        files.write(path, self._whole(result_page).encode())
        return path

    def _whole(self, make: Callable[[xr.Dataset], T]) -> T:
        """Return the output of `make` for the whole result."""
        try:
            with refusing_incomplete():
                return make(self._result)
        except ResultError as problem:
            chosen = [name for name, label in self._result.coords.items() if not label.dims]
            if not chosen:
                raise
            raise UsageError(
                f"one {chosen[0]} was chosen of this result, and tables and pictures are those of "
                f"all; make them of the whole result, or keep the axis: sel({chosen[0]}=[...])."
            ) from problem


def result_html(result: xr.Dataset) -> str:
    """Return the HTML of a dataset in a notebook: of a whole result of ours, the findings.

    Args:
        result: Any dataset; others, and parts of a result, are shown as xarray shows them.
    """
    if "stage" in result.attrs:
        with suppress(HeadlightError):
            return HeadlightAccessor(result)._repr_html_()
    return str(result._repr_html_())


def show_in_notebook() -> None:
    """Let the notebook that runs this show results by `result_html`; elsewhere do nothing."""
    # Not imported: where nobody has imported IPython, this is no notebook, and it is slow to load.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(xr.Dataset, result_html)


show_in_notebook()


def _chosen(kind: str, name: str | None, names: list[str]) -> str:
    if name is None and names:
        return names[0]
    if name not in names:
        raise UnknownNameError(kind, str(name), names)
    return name
