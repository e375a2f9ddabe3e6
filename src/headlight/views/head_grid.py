"""Grid of heads: a square per head, coloured by the answer to a question."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.catalogue import Statistic
from headlight.findings import Highlight, name_of, observed, surveyed
from headlight.findings.estimates import Estimate
from headlight.findings.statistics import rests_on_few, row_label, statistics_of
from headlight.views.axis_ranges import round_domain
from headlight.views.colours import level
from headlight.views.html_elements import element, joined
from headlight.views.number_formats import (
    Format,
    Number,
    decimal,
    decimal_cell,
    percent_cell,
    percent_text,
    plus_minus,
    points_cell,
    points_text,
    rank_text,
    signed,
    two_decimals,
)
from headlight.vocabulary import measure

CELL = 40
_CHANGE = "Orange where it is more than the weight, blue where it is less."
_TEXT_UP_TO = 16
"""Layers, and heads of each, up to which the numbers themselves are written into the squares."""

_SHARES: tuple[Format, Format] = (percent_cell, percent_text)
_DECIMALS: tuple[Format, Format] = (decimal_cell, decimal)
_FORMATS: dict[str, tuple[Format, Format]] = {"rank": (rank_text, rank_text)}
"""Formats of numbers in squares and beside them."""


class _Margins(NamedTuple):
    """Margins of the grid: the start of the squares, and the line of the word above them."""

    left: int
    top: int
    line: int


_FRAME = _Margins(left=48, top=42, line=12)
# Many heads are drawn small, so their labels are large in the drawing's own units.
_DENSE = _Margins(left=78, top=66, line=22)


class View(TypedDict):
    """Colouring of the grid, as the page's script reads it."""

    title: str
    help: str
    scale: str
    low: float
    high: float
    values: list[float | None]
    cells: list[str]
    texts: list[str]
    ends: list[str]


@dataclass(frozen=True, slots=True)
class HeadGrid:
    """Grid of a report.

    Attributes:
        questions: Name and label of every question, in the order of the buttons.
        measures: Name and label of every measure.
        views: Views by ``question.measure`` (``question.`` where measures do not matter).
        first: Name of the view that the drawing shows.
        drawing: SVG of the grid.
    """

    questions: list[tuple[str, str]]
    measures: list[tuple[str, str]]
    views: dict[str, View]
    first: str
    drawing: Markup


def head_grid(result: xr.Dataset, findings: Iterable[Highlight] = ()) -> HeadGrid | None:
    """Return the grid of a survey, or None when no head was observed at all.

    Args:
        result: Survey of one kind of attention.
        findings: Findings, of which the first about a head selects the first view of the grid.
    """
    views: dict[str, View] = {}
    questions = []
    for row, by_measure in statistics_of(result, prominent=True):
        if rests_on_few(result, row):
            continue
        label = row_label(result, row)
        questions.append((row.name, label))
        if row.per_measure:
            uniform = float(observed(result, "entropy_uniform", ())) if row.name == "entropy" else 0
            views |= _compared(row, label, by_measure, uniform if uniform > 0 else 0.0)
            continue
        numbers = by_measure[""]
        formats = _FORMATS.get(row.name, _SHARES if row.unit == "share" else _DECIMALS)
        domain = _range(numbers.value)
        views[f"{row.name}."] = _view((label, row.help), "green", numbers, domain, formats)
    if not views:
        return None
    rows = surveyed(result)
    measures = [
        *((row.name, row.short) for row in rows),
        *((f"{row.name}-weight", f"{row.short} − weight") for row in rows),
    ]
    shown_measures = [m for m in measures if any(key.endswith(f".{m[0]}") for key in views)]
    found_views = (f"{finding.question}.{finding.measure}" for finding in findings)
    first = next((name for name in found_views if name in views), next(iter(views)))
    return HeadGrid(questions, shown_measures, views, first, draw_grid(result, views[first]))


def draw_grid(result: xr.Dataset, view: View) -> Markup:
    """Draw the squares, whose rows are layers; each has a title and the class that colours it."""
    layers, heads = result["layer"].values.tolist(), result.sizes["head"]
    dense = max(heads, len(layers)) > _TEXT_UP_TO
    frame = _DENSE if dense else _FRAME
    width, height = frame.left + CELL * heads + 4, frame.top + CELL * len(layers) + 4
    parts = [
        _label("head", frame.left + CELL * heads / 2, frame.line, "grid-axis"),
        _label("layer", frame.left - 10, frame.top - 10, "grid-axis", "end"),
    ]
    for head in range(heads):
        x = frame.left + CELL * (head + 0.5)
        parts.append(_label(str(head), x, frame.top - 10, "grid-tick"))
    for row, layer in enumerate(layers):
        y = frame.top + CELL * (row + 0.5) + 5
        parts.append(_label(str(layer), frame.left - 10, y, "grid-tick", "end"))
        for head in range(heads):
            corner = (frame.left + CELL * head, frame.top + CELL * row)
            name = name_of(result, layer, head)
            parts.append(_cell(view, row * heads + head, name, corner, dense=dense))
    return element(
        "svg",
        joined(parts),
        class_=f"head-grid scale-{view['scale']}" + (" dense" if dense else ""),
        viewBox=f"0 0 {width} {height}",
        # Squares of up to 60 pixels, of many 26, and never wider than the column of the grid.
        style=f"max-width:{min(round(0.65 * width) if dense else 60 * heads + frame.left, 800)}px",
        role="img",
        aria_label=f"{view['title']}: {len(layers)} layers by {heads} heads; the table of all "
        "heads below holds the same numbers",
    )


def _cell(view: View, index: int, name: str, corner: tuple[int, int], *, dense: bool) -> Markup:
    value = view["values"][index]
    step = "none" if value is None else f"q{level(value, view['low'], view['high'])}"
    x, y = corner
    parts = [
        element("title", f"Head {name}: {view['texts'][index]}"),
        element("rect", x=x + 1, y=y + 1, width=CELL - 2, height=CELL - 2, rx=4),
    ]
    if not dense:
        words = view["cells"][index]
        parts.append(element("text", words, x=x + CELL // 2, y=y + CELL // 2 + 5))
    return element("g", *parts, id=anchor(name), class_=f"cell {step}")


def anchor(name: str) -> str:
    """Return the anchor of a head by its name: ``cross L0H1`` is at ``cross-L0H1``."""
    return name.replace(" ", "-")


def _label(words: str, x: Number, y: Number, kind: str, anchor: str = "middle") -> Markup:
    return element("text", words, x=float(x), y=float(y), class_=kind, text_anchor=anchor)


def _compared(
    row: Statistic, label: str, by_measure: dict[str, Estimate], uniform: float
) -> dict[str, View]:
    """Return the views of a row: every measure on one range, and differences on another."""
    numbers = dict(by_measure)
    highest = max(float(np.nanmax(estimate.value)) for estimate in numbers.values())
    _, high = round_domain(0.0, max(highest, uniform, 0.01))
    share = row.unit == "share"
    formats = _SHARES if share else (two_decimals, "{:.2f} nats".format)
    views = {
        f"{row.name}.{m}": _view(
            (f"{_named(m)} {label}", row.help), measure(m).colour, v, (0.0, high), formats
        )
        for m, v in numbers.items()
    }
    change: tuple[Format, Format] = (points_cell, points_text) if share else (signed, signed)
    weights = numbers.pop("weight", None)
    differences = (
        {} if weights is None else {m: v.value - weights.value for m, v in numbers.items()}
    )
    most = max(
        (float(np.nanmax(np.abs(d), initial=0.0)) for d in differences.values()), default=0.0
    )
    _, most = round_domain(0.0, max(most, 0.01))
    for m, difference in differences.items():
        title = f"{_named(m)} minus weight {label}"
        views[f"{row.name}.{m}-weight"] = _view(
            (title, _CHANGE), "change", _plain(difference), (-most, most), change
        )
    return views


def _named(name: str) -> str:
    return measure(name).short.capitalize()


def _plain(values: NDArray[np.float64]) -> Estimate:
    nothing = np.full_like(values, np.nan)
    return Estimate.with_ends(values, nothing, nothing)


def _view(
    words: tuple[str, str],
    scale: str,
    numbers: Estimate,
    domain: tuple[float, float],
    formats: tuple[Format, Format],
) -> View:
    cell, full = formats
    flat = [float(value) for value in numbers.value.ravel()]
    shares = full is percent_text
    halves = [
        plus_minus(float(half), share=shares) for half in ((numbers.high - numbers.low) / 2).ravel()
    ]
    return View(
        title=words[0],
        help=words[1],
        scale=scale,
        low=domain[0],
        high=domain[1],
        values=[float(f"{value:.4g}") if math.isfinite(value) else None for value in flat],
        cells=[cell(value) for value in flat] if max(numbers.value.shape) <= _TEXT_UP_TO else [],
        texts=[
            f"{full(value)}{half}" if math.isfinite(value) else "not observed"
            for value, half in zip(flat, halves, strict=True)
        ],
        ends=[full(domain[0]), full(domain[1])],
    )


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    # From zero where zero is near enough to mean something, else from the smallest value.
    return round_domain(min(low, 0.0) if low < 0.6 * high else low, high)
