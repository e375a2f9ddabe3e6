"""Heads of one text as a picture for paper: tokens by tokens, with a scale."""

from collections.abc import Iterable, Sequence
from textwrap import shorten

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.findings import pieces_of, token_place
from headlight.findings.phrases import listed
from headlight.result.kinds import require_one_kind
from headlight.views.pictures import HeadMap, Picture, TokenBars, head_map, token_bars
from headlight.views.titles import model_name, text_title
from headlight.vocabulary import Measure, head_name, measure, measure_table

MOST = 24
"""Maps of a picture; the page of a reading shows all heads."""

ROW = {
    "weight": "where {} looks (attention weight)",
    "norm": "what {} takes (norm of what is moved)",
}
"""Titles of the bars over the tokens of one row, from above."""

_BELOW = 0.01
"""Numbers below 0 that are larger than this share of the largest are shown on a two-sided scale."""


def reading_picture(
    reading: xr.Dataset,
    layers: Iterable[int],
    heads: Iterable[int] | None,
    measures: Sequence[str],
    *,
    annotate: bool | None = None,
    title: str | None = None,
) -> Picture:
    """Draw maps of all given heads in all given layers by all given measures.

    Args:
        reading: Reading of one kind of attention.
        layers: Numbers of layers.
        heads: Numbers of heads; None where the measures are of whole layers.
        measures: Measures of pairs of tokens. Maps of one measure share its range of colours.
        annotate: Whether the numbers are written into the cells; when None, where they fit.
        title: Title over all maps; by default text and model.

    Raises:
        UsageError: The reading is of several kinds, lacks what is requested, or that is too much.
        UnknownNameError: There is no such measure.
    """
    require_one_kind(reading)
    rows = [_row(reading, name) for name in measures]
    layers, heads = list(layers), None if heads is None else list(heads)
    chosen = [
        (row, layer, head)
        for layer in layers
        for head in ([None] if heads is None else heads)
        for row in rows
    ]
    if not chosen:
        raise UsageError("nothing is selected; name at least one layer, head and measure.")
    if len(chosen) > MOST:
        raise UsageError(
            f"these are {len(chosen)} maps, and a picture of more than {MOST} cannot be read; "
            "choose fewer heads, or save the reading as .html, which shows all."
        )
    maps = [_map(reading, row, layer, head) for row, layer, head in chosen]
    return Picture(head_map(maps, annotate=annotate, title=_titled(reading, title)))


def row_picture(
    reading: xr.Dataset, token: str | int, layer: int, head: int, *, title: str | None = None
) -> Picture:
    """Return bars over the tokens of one row: its weights above, its norms below.

    Args:
        reading: Reading of one kind of attention.
        token: Attending token, or its place.
        layer: Number of the layer.
        head: Number of the head.
        title: Title over the bars; by default text and model.

    Raises:
        UsageError: The reading is of several kinds, or has no such token, layer or head.
    """
    require_one_kind(reading)
    place = token_place(reading, token, "query") if isinstance(token, str) else token
    places = reading["query"].values.tolist()
    if place not in places:
        raise UsageError(
            f"there is no token {place} in this reading, which has {_numbers(places)}."
        )
    labels, keys = (
        [piece.label for piece in pieces_of(reading, f"{side}_token")] for side in ("query", "key")
    )
    at, rows = places.index(place), {}
    for name in (name for name in ROW if name in reading):
        row = _values(reading, _row(reading, name), layer, head)[at]
        rows[name] = row / (row.sum() or 1.0)
    last = int(np.flatnonzero(rows["weight"])[-1]) + 1  # a decoder sees nothing beyond it
    word = f"“{labels[at]}”"
    series = [
        TokenBars(f"{head_name(layer, head)} · {series_name.format(word)}", name, rows[name][:last])
        for name, series_name in ROW.items()
        if name in rows
    ]
    return Picture(token_bars(series, keys[:last], title=_titled(reading, title)))


def _titled(reading: xr.Dataset, title: str | None) -> str:
    """Return the title of a picture; by default text and model."""
    if title is not None:
        return title
    texts = text_title(reading.attrs)
    return f"“{shorten(texts, 60, placeholder=' …')}” · {model_name(reading.attrs)}"


def _row(reading: xr.Dataset, name: str) -> Measure:
    row = measure(name)
    if name not in reading or not row.pairwise:
        rows = [other for other in measure_table() if other.pairwise and other.name in reading]
        why = "is not in this reading" if row.pairwise else "is no measure of pairs of tokens"
        raise UsageError(
            f"{name} {why}, of which a picture can show {listed([other.name for other in rows])}."
        )
    return row


def _map(reading: xr.Dataset, row: Measure, layer: int, head: int | None) -> HeadMap:
    values = _values(reading, row, layer, head)
    values = np.where(_masked(reading, layer) & (values == 0), np.nan, values)
    queries, keys = (
        [piece.label for piece in pieces_of(reading, f"{side}_token")] for side in ("query", "key")
    )
    name = f"layer {layer}" if head is None else head_name(layer, head)
    return HeadMap(
        f"{name}: {row.short} {row.symbol}",
        values,
        queries,
        keys,
        "attending token",
        "attended token",
        "change" if _two_sided(reading[row.name].values) else row.name,
        unit=row.title,
        hatched=False,
    )


def _masked(reading: xr.Dataset, layer: int) -> NDArray[np.bool_]:
    # No head sees these, as keys after a decoder's token; other zeros are weights.
    if "weight" not in reading:
        return np.zeros(1, dtype=bool)
    return np.asarray((reading["weight"].sel(layer=layer).fillna(0) == 0).all("head").values)


def _values(reading: xr.Dataset, row: Measure, layer: int, head: int | None) -> NDArray[np.float64]:
    """Return the numbers of a map, [query, key]."""
    if row.per_head and head is None:
        raise UsageError(f"{row.name} is of single heads; name the head of layer {layer}.")
    if head is not None and not row.per_head:
        raise UsageError(f"{row.name} is of all heads of a layer together; leave the head out.")
    selection = {"layer": layer} if head is None else {"layer": layer, "head": head}
    for dim, number in selection.items():
        numbers = reading[dim].values.tolist()
        if number not in numbers:
            raise UsageError(
                f"there is no {dim} {number!r} in this reading, which has {_numbers(numbers)}; "
                "both are counted from 0."
            )
    values = np.asarray(reading[row.name].sel(selection).values, dtype=np.float64)
    if not np.isfinite(values).any():
        raise UsageError(f"layer {layer} has no head {head}: it has fewer than other layers.")
    return values


def _numbers(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return listed([str(number) for number in numbers])


def _two_sided(values: NDArray[np.float32]) -> bool:
    # Rounding leaves numbers a hair below 0.
    return bool(np.nanmin(values) < -_BELOW * np.nanmax(values))
