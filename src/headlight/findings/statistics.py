"""Statistics of heads as they are shown."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from headlight.catalogue import Statistic, statistic_table
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.findings.category_shares import occurs
from headlight.findings.estimates import Estimate, estimates, unreached
from headlight.findings.phrases import category_label, plural, unit_of_keys
from headlight.findings.variables import places_of, surveyed
from headlight.vocabulary import KINDS

OF_READING, ROWS_OF_READING = "head_number", "head_rows"
"""Variables of a reading: all statistics of its heads, and the number of rows of each."""

BY_HEAD = ("layer", "head")

EQUAL = 1e-6
"""Shares that are never further apart are one number."""


def row_label(result: xr.Dataset, row: Statistic, *, short: bool = False) -> str:
    """Return the label of a row in a result: with its unit, and its tokenizer's name of categories.

    Args:
        result: Survey or reading, of one kind of attention.
        row: Row of the table.
        short: Whether the label is the short one, for little room.
    """
    return _filled(result, row, row.short if short else row.label)


def row_target(result: xr.Dataset, row: Statistic) -> str:
    """Return what a share goes to, in a sentence."""
    return _filled(result, row, row.target)


def _filled(result: xr.Dataset, row: Statistic, text: str) -> str:
    unit = unit_of_keys(result)
    texts = {"frame": "recordings", "position": "pictures"}.get(unit, "texts")
    category = category_label(result, row.category) if row.category else ""
    return text.format(unit=unit, texts=texts, category=category)


def measures_of(result: xr.Dataset, row: Statistic) -> list[str]:
    """Return the measures by which a result may have a row; ``""`` where it belongs to none."""
    return [measure.name for measure in surveyed(result)] if row.per_measure else [""]


def numbers_of(
    result: xr.Dataset, row: Statistic, measure: str = "", *, without_first: bool = False
) -> Estimate:
    """Return the numbers of a row by layer and head, with their intervals; NaN without any.

    Args:
        result: Survey or reading, of one kind of attention.
        row: Row of the table.
        measure: Measure of the row; ``""`` for rows that belong to no measure.
        without_first: Whether shares are those of all that does not go to the first token.
    """
    if OF_READING in result:
        return estimates(result, OF_READING, BY_HEAD, statistic=row.name, measure=measure)
    if row.name == "unreached":
        return unreached(result)
    if without_first:
        by = {"measure": measure} if row.per_measure else {}
        return estimates(result, row.rest, BY_HEAD, **row.rest_labels, **by)
    variable, labels = place_of(result, row, measure)
    numbers = estimates(result, variable, BY_HEAD, **labels)
    is_there = not row.category or occurs(result, row.category)
    if variable == "class_share" and row.category:  # whose only token may be the first
        is_there &= bool(np.nanmax(np.abs(numbers.value), initial=0) > EQUAL)
    return numbers if is_there else masked(numbers, False)


def number_of_heads(result: xr.Dataset, row: Statistic) -> tuple[Estimate, xr.DataArray] | None:
    """Return the numbers of a row on all axes that they have in a survey, or in a part of one.

    Args:
        result: Survey, or a part that was chosen with ``sel``.
        row: Row of the table.

    Returns:
        The numbers with their uncertainty, and as an array with its coordinates; None where the
        survey holds nothing of the row.
    """
    is_one_kind = "kind" not in result.dims
    if (is_one_kind and not applies(result, row)) or (
        row.category and not occurs(result, row.category)
    ):
        return None
    if row.name == "unreached":
        if not is_one_kind or not {*BY_HEAD} <= {*result.dims} or "measure" not in result.dims:
            return None
        numbers = unreached(result)
        along = {dim: result[dim] for dim in BY_HEAD}
        array = xr.DataArray(numbers.value, along, BY_HEAD)
        return (numbers, array) if np.isfinite(numbers.value).any() else None
    variable, labels = place_of(result, row, "")
    labels.pop("measure", None)
    places = places_of(result, variable, labels)
    if places is None:
        return None
    array = result[variable].isel(places)
    numbers = estimates(result, variable, tuple(map(str, array.dims)), **labels)
    return None if bool(array.isnull().all()) else (numbers, array)


def masked(numbers: Estimate, mask: Any) -> Estimate:
    """Return numbers of which some are kept, and the others are not observed.

    Args:
        numbers: Numbers of any shape.
        mask: Booleans of that shape, or one for all.
    """
    value = np.where(mask, numbers.value, np.nan)
    if numbers.ends is not None:
        return Estimate.with_ends(value, *(np.where(mask, end, np.nan) for end in numbers.ends))
    return replace(numbers, value=value)


def place_of(result: xr.Dataset, row: Statistic, measure: str) -> tuple[str, dict[str, str | int]]:
    """Return the variable in which a result has a row, and the labels of the row in it.

    In a decoder the first token is a kind of key of its own, beside the categories.
    """
    by: dict[str, str | int] = {"measure": measure} if row.per_measure else {}
    if row.name in KEY_CLASSES and "class_share" in result:
        return "class_share", {"query_category": "all", "key_class": row.name, **by}
    return row.variable, {**row.labels, **by}


def applies(result: xr.Dataset, row: Statistic) -> bool:
    """Return whether a row applies to the kind of attention of a result.

    An unknown kind, as in a file that was changed by hand, is taken for an encoder's.
    """
    kind = result.attrs.get("kind")
    return (kind if kind in KINDS else "encoder") in row.kinds


def statistics_of(
    result: xr.Dataset, *, prominent: bool = False
) -> list[tuple[Statistic, dict[str, Estimate]]]:
    """Return the rows of which a result has any number, each with its numbers by measure.

    Rows that repeat another for all heads are left out.

    Args:
        result: Survey or reading, of one kind of attention.
        prominent: Whether only rows of tables and the grid are returned.
    """
    by_name: dict[str, tuple[Statistic, dict[str, Estimate]]] = {}
    for row in statistic_table():
        if (prominent and not row.prominent) or not applies(result, row):
            continue
        by = {name: numbers_of(result, row, name) for name in measures_of(result, row)}
        by = {name: numbers for name, numbers in by.items() if np.isfinite(numbers.value).any()}
        if by:
            by_name[row.name] = row, by
    return [row for row in by_name.values() if not _repeats(row, by_name)]


def _repeats(
    row_with_numbers: tuple[Statistic, dict[str, Estimate]],
    others: dict[str, tuple[Statistic, dict[str, Estimate]]],
) -> bool:
    """Return whether a row is the same number as the one that it follows from."""
    row, by = row_with_numbers
    if row.follows not in others or not row.labels:
        return False
    before = others[row.follows][1]
    first = next(iter(by))
    return first in before and bool(
        np.allclose(by[first].value, before[first].value, rtol=0, atol=EQUAL, equal_nan=True)
    )


def count_rows(result: xr.Dataset, row: Statistic) -> tuple[int, int] | None:
    """Return the number of rows of attention on which a statistic rests, and of all rows.

    None where a result of an earlier version does not say so.
    """
    if ROWS_OF_READING in result:
        counts = result[ROWS_OF_READING].values
        here = counts[result["statistic"].values == row.name]
        return int(here.max(initial=0)), int(counts.max(initial=0))
    if "behaviour_rows" not in result:
        return None
    pairs = zip(result["behaviour"].values, result["behaviour_rows"].values, strict=True)
    rows_counted = {str(name): int(count) for name, count in pairs}
    whole = max(rows_counted.values(), default=0)
    if row.labels.get("offset"):  # which one token of each text has not
        return whole - int(result.attrs.get("examples", 1)), whole
    return rows_counted.get(row.name, whole) if row.counted else whole, whole


def rests_on_few(result: xr.Dataset, row: Statistic) -> bool:
    """Return whether a row rests on fewer rows of attention than it needs."""
    counted = count_rows(result, row)
    return counted is not None and counted[0] < row.min_rows


def say_rows(result: xr.Dataset, row: Statistic) -> str:
    """Say on how many rows a statistic rests, where these are not all: ``1 of 15 rows``."""
    counted = count_rows(result, row)
    if counted is None or counted[0] == counted[1]:
        return ""
    return f"{counted[0]:,} of {plural(counted[1], 'row')}"
