"""Wherever a table has a number and its interval, the number lies in it; results as well."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headlight.catalogue import studies
from headlight.errors import UsageError
from headlight.result import bounds
from headlight.views.parts import By, Columns, Table, columns
from headlight.views.result_contents import tables
from study_runs import ENCODED, SPOKEN, StudyRuns

ENDS = {"low": "high", "from": "to"}
OTHERWISE = {"baseline": "baseline_accuracy"}
"""Numbers that are called otherwise than their ends."""
ROUNDING = 1e-6


def intervals(frame: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield the labels of each number with an interval, and of its ends.

    Ends are named after their number (``KL, low``, ``KL low``, ``kl_low``), or stand behind it.
    """
    labels = list(map(str, frame.columns))
    for at, low in enumerate(labels):
        named = re.fullmatch(r"(?:(.+?)(?:, | |_))?(low|from)", low)
        if named is None:
            continue
        before, end = named.groups()
        high = f"{low.removesuffix(end)}{ENDS[end]}"
        if high in labels:
            value = labels[at - 1] if before is None else OTHERWISE.get(before, before)
            assert value in labels, f"{low!r} is an end of no column"
            yield value, low, high


def misplaced(frame: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the numbers that lie outside their interval: label and row."""
    rows = []
    for labels in intervals(frame):
        value, low, high = (frame[label].to_numpy(dtype=float) for label in labels)
        outside = (value < low - ROUNDING) | (value > high + ROUNDING)
        rows += [(labels[0], int(row)) for row in np.flatnonzero(outside)]
    return rows


@pytest.mark.parametrize("name", studies())
def test_numbers_of_studies_lie_in_their_intervals(name: str, study_runs: StudyRuns) -> None:
    result = study_runs.result(name)
    for table in tables(result).values():
        assert not misplaced(table.frame), table.name
        assert not misplaced(result.headlight.table(table.name)), table.name
    files = [*study_runs.folder(name).rglob("*.csv")]
    assert files
    for path in files:
        assert not misplaced(pd.read_csv(path)), path.name


@pytest.mark.parametrize("name", studies())
def test_intervals_of_results_stay_in_bounds(name: str, study_runs: StudyRuns) -> None:
    assert_in_bounds(study_runs.result(name))


@pytest.mark.words
@pytest.mark.parametrize("name", [ENCODED, SPOKEN])
def test_intervals_of_other_alignments_stay_in_bounds(name: str, study_runs: StudyRuns) -> None:
    assert_in_bounds(study_runs.results()[name])


def assert_in_bounds(result: xr.Dataset) -> None:
    """Every end of an interval says what it may be, and is it; so is the number."""
    ends = [str(each) for each in result.data_vars if str(each).endswith(("low", "high"))]
    assert {each for each in ends if "scale" not in result[each].attrs} == set()
    for each in ends:
        low, high = bounds(result[each])
        assert not ((result[each] < low) | (result[each] > high)).any(), each
    for each in result.data_vars:
        if "scale" in result[each].attrs:
            low, high = bounds(result[each])
            outside = (result[each] < low - ROUNDING) | (result[each] > high + ROUNDING)
            assert not outside.any(), f"{each} is not {result[each].attrs['scale']}"


def test_a_number_in_the_interval_of_another_is_noticed() -> None:
    frame = pd.DataFrame({"a": [0.5], "b": [0.1], "low": [0.4], "high": [0.6]})
    assert misplaced(frame) == [("b", 0)]
    assert misplaced(frame.rename(columns={"low": "a, low", "high": "a, high"})) == []


@pytest.fixture
def result() -> xr.Dataset:
    value = xr.DataArray([[0.1, 0.9], [0.2, 0.8]], dims=("head", "kind"))
    ends = {"x": value, "x_low": value - 0.05, "x_high": value + 0.05}
    others = {name.replace("x", "y"): each + 1 for name, each in ends.items()}
    return xr.Dataset(ends | others, coords={"head": [0, 1], "kind": ["a", "b"]})


def test_ends_of_several_intervals_are_named_after_their_number(result: xr.Dataset) -> None:
    table = columns("t", "", result, "head", Columns("x", ".2f", by="kind", interval=True))
    assert list(table.frame)[1:] == ["a", "a, low", "a, high", "b", "b, low", "b, high"]
    assert set(table.formats) == set(table.frame) - {"head"}
    assert not misplaced(table.frame)
    two = [Columns(name, label=name, interval=True) for name in ("x", "y")]
    frame = columns("t", "", result.sel(kind="a"), "head", *two).frame
    assert list(frame)[1:] == ["x", "x, low", "x, high", "y", "y, low", "y, high"]
    assert not misplaced(frame)


def test_one_interval_keeps_its_short_names(result: xr.Dataset) -> None:
    y = Columns("y", label="y", interval=("from", "to"))
    frame = columns(
        "t", "", result.sel(kind="a"), "head", Columns("x", label="x", interval=True), y
    )
    assert list(frame.frame)[1:] == ["x", "low", "high", "y", "from", "to"]


@pytest.mark.parametrize(
    "shown",
    [
        [Columns("x", label="x"), Columns("y", label="x")],
        [Columns("x", label="head")],
        [Columns("x", label="x", interval=("ends", "ends"))],
        [Columns("x", label="x", interval=True), Columns("y", label="y", interval=("low", "high"))],
    ],
)
def test_two_columns_of_one_label_are_refused(shown: list[Columns], result: xr.Dataset) -> None:
    with pytest.raises(UsageError, match="'t' has several columns called"):
        columns("t", "", result.sel(kind="a"), "head", *shown)


def test_two_labels_of_one_name_are_refused(result: xr.Dataset) -> None:
    by = By("kind", {"a": "same", "b": "same"})
    with pytest.raises(UsageError, match="several columns called 'same'"):
        columns("t", "", result, "head", Columns("x", by=by))


def test_a_table_of_any_frame_refuses_two_columns_of_one_label() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(UsageError, match="'t' has several columns called 'a'"):
        Table("t", "", frame)
