"""Numbers of the pages of heads: those of all heads, and those of single heads."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic_table
from headlight.files import printable
from headlight.findings import name_of, surveyed, unit_of_keys
from headlight.findings.candidates import why_of_tokens
from headlight.findings.estimates import Estimate
from headlight.findings.piece_text import PieceText, piece_text
from headlight.findings.statistics import rests_on_few, row_label, say_rows, statistics_of
from headlight.findings.token_names import pieces_of
from headlight.views.head_grid import anchor
from headlight.vocabulary import DISTANCES, measure, measure_names

STRONGEST = 3
"""Passages that the page of a head shows: of what it does, where it ranks highest."""


def numbers_as_json(
    result: xr.Dataset,
    rows: Iterable[tuple[Statistic, Mapping[str, Estimate]]],
    places: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    """Return statistics as the scripts of reports and readings read them.

    Args:
        result: Survey or reading of one kind of attention.
        rows: Rows of the table, with their numbers by measure; ``""`` for numbers of no measure.
        places: Layers and heads, as the model counts them; null for those that the result lacks.

    Returns:
        Objects with ``name``, ``label``, ``unit``, ``help`` and ``by``: measure -> numbers and,
        where there are intervals, lower and upper ends, each over the places; ``rows`` says on how
        many rows of attention they rest, unless on all, and ``few`` is true where these are
        fewer, or of other tokens, than it takes to rank heads.
    """
    layers = {layer: at for at, layer in enumerate(result["layer"].values.tolist())}
    heads = {head: at for at, head in enumerate(result["head"].values.tolist())}
    exists = [layer in layers and head in heads for layer, head in places]
    indices = [(layers.get(layer, 0), heads.get(head, 0)) for layer, head in places]

    def placed(values: NDArray[np.float64]) -> list[float | None]:
        return [
            _short(values[index]) if is_there else None
            for index, is_there in zip(indices, exists, strict=True)
        ]

    data = []
    for row, by in rows:
        about = {
            "name": row.name,
            "label": row_label(result, row),
            "unit": row.unit,
            "help": row.help,
        }
        few = rests_on_few(result, row) or bool(why_of_tokens(result, row))
        rests = {"rows": say_rows(result, row), "few": few}
        numbers = {}
        for name, estimate in by.items():
            ends = _within(row, name, estimate) if estimate.known else ()
            numbers[name] = [placed(values) for values in (estimate.value, *ends)]
        data.append(about | {key: fact for key, fact in rests.items() if fact} | {"by": numbers})
    return data


def _within(row: Statistic, name: str, numbers: Estimate) -> tuple[NDArray[np.float64], ...]:
    """Return the ends of intervals, clipped to possible values; signed numbers have no bounds."""
    ends = numbers.interval()
    if name and name in measure_names() and measure(name).signed:
        return ends
    return tuple(np.clip(end, *row.bounds) for end in ends)


def all_heads(result: xr.Dataset) -> dict[str, Any]:
    """Return the data for the script of a survey's pages, of one kind; texts are data, not markup.

    Heads are in the order of layers; a number that is missing is null.
    """
    places = head_places(result)
    rows = surveyed(result)
    return {
        "names": [anchor(name_of(result, layer, head)) for layer, head in places],
        "layers": [layer for layer, _ in places],
        "measures": [[row.name, row.short, row.colour] for row in rows],
        "unit": unit_of_keys(result),
        "statistics": numbers_as_json(result, statistics_of(result), places),
        "distances": _distances(),
        "texts": [texts_of(result, name) for name in ("drawn_key", "drawn_query")],
    }


def head_places(result: xr.Dataset) -> list[tuple[int, int]]:
    """Return layer and head of all heads, in their order."""
    layers = result["layer"].values.tolist()
    return [(layers[row], head) for row, head in np.argwhere(_observed_heads(result)).tolist()]


def _observed_heads(result: xr.Dataset) -> NDArray[np.bool_]:
    # Layers with fewer heads than others are filled up with NaN.
    entropy = result["entropy"].transpose("layer", "head", ...).values
    return np.asarray(np.isfinite(entropy).reshape(*entropy.shape[:2], -1).any(-1))


def _short(value: float | np.floating[Any]) -> float | None:
    # Four digits are more than can be seen, and JSON knows no NaN.
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _distances() -> list[str]:
    ends = [*DISTANCES[1:], None]
    return [
        f"{begin}+" if end is None else str(begin) if end - begin == 1 else f"{begin}–{end - 1}"
        for begin, end in zip(DISTANCES, ends, strict=True)
    ]


def texts_of(result: xr.Dataset, name: str) -> list[list[str]]:
    """Return the texts that were drawn: tokens as they stand in the text, with the blank before."""
    if name not in result:
        return []
    shown_tokens = _tokens(result)
    rows = result[name].values
    return [[shown_tokens[int(token)] for token in row if np.isfinite(token)] for row in rows]


def _tokens(result: xr.Dataset) -> dict[int, str]:
    """Return the labels of the tokens that passages and drawn texts hold, by vocabulary number."""
    if "token_text" not in result:
        return {}
    ids = result["token"].values.astype(int).tolist()
    return dict(zip(ids, map(_token, pieces_of(result, "token_text")), strict=True))


def _token(piece: PieceText) -> str:
    return f"{piece.mark}{printable(piece.text)}"


class HeadDetails:
    """Details of single heads for their pages, beside the numbers that all heads have.

    Args:
        result: Survey of one kind of attention.
    """

    def __init__(self, result: xr.Dataset) -> None:
        self._result = result
        self._layers = result["layer"].values.tolist()
        self._measures = [row.name for row in surveyed(result)]
        self._order = [result["measure"].values.tolist().index(name) for name in self._measures]
        self._shown = _tokens(result)
        # By head and not by label: there are thousands of heads, and dozens of arrays.
        by = ("layer", "head", "measure")
        self._distance = self._array("distance_share", *by, "distance")
        self._top = {
            field: self._array(f"top_token{field}", *by, "side", "top")
            for field in ("", "_share", "_lift")
            if "top_token" in result
        }
        self._decile = {
            field: self._array(f"decile_{field}", *by, "decile", *more)
            for field, *more in (
                ("score",),
                ("text",),
                ("query",),
                ("place", "link"),
                ("value", "link"),
            )
            if "decile_score" in result
        }
        self._passage = {
            field: self._array(f"passage_{field}", "layer", "head", "does", *more)
            for field, *more in (
                *(("score",), ("length",), ("query",), ("query_token",)),
                *((name, "kept") for name in ("place", "token", "weight")),
            )
            if "passage_score" in result
        }

    def _array(self, name: str, *dims: str) -> NDArray[Any]:
        if name not in self._result:
            return np.zeros((0,) * len(dims))
        return np.asarray(self._result[name].transpose(*dims).values)

    def describe(self, layer: int, head: int) -> dict[str, Any]:
        """Return the details of a head, by the number of the layer as the model counts it."""
        at = self._layers.index(layer), head
        sides = [str(side) for side in self._result["side"].values] if self._top else []
        by = list(zip(self._measures, self._order, strict=True))
        return {
            "distances": {
                name: [_short(value) for value in self._distance[at][place]]
                for name, place in by
                if self._distance.size
            },
            "tokens": {
                side: {name: self._top_tokens(at, place, row) for name, place in by}
                for row, side in enumerate(sides)
            },
            "deciles": {name: list(self._deciles(at, place)) for name, place in by},
            "passages": list(self._passages(at)),
        }

    def _top_tokens(self, at: tuple[int, int], measure: int, side: int) -> list[list[Any]]:
        """Return tokens with their share and lift."""
        names, shares, lifts = (values[at][measure, side] for values in self._top.values())
        style = str(self._result.attrs.get("pieces", ""))
        return [
            [_token(piece_text(str(name), style)), _short(share), _short(lift)]
            for name, share, lift in zip(names, shares, lifts, strict=True)
            if math.isfinite(share)
        ]

    def _deciles(self, at: tuple[int, int], measure: int) -> Iterator[list[Any]]:
        """Yield decile, strength, text, place of the query, places and values, strongest first."""
        here = {field: values[at][measure] for field, values in self._decile.items()}
        labels = self._result["decile"].values.tolist() if here else []
        for place, decile in reversed(list(enumerate(labels))):
            if math.isfinite(here["score"][place]):
                has_place = np.isfinite(here["place"][place])
                keys = here["place"][place][has_place].astype(int).tolist()
                values = [_short(value) for value in here["value"][place][has_place]]
                text, query = int(here["text"][place]), int(here["query"][place])
                yield [decile, _short(here["score"][place]), text, query, keys, values]

    def _named(self, does: str) -> str:
        by_row = {row.name: row for row in statistic_table()}
        return row_label(self._result, by_row[does]) if does in by_row else does.replace("_", " ")

    def _passages(self, at: tuple[int, int]) -> Iterator[dict[str, Any]]:
        """Yield the passages for the behaviours in which the head exceeds most heads."""
        if not self._passage:
            return
        scores = self._passage["score"]
        above = (scores > scores[at]).sum((0, 1))
        # What no head does at all, all do most.
        scored = np.flatnonzero(np.isfinite(scores[at]) & (scores[at] != 0))
        rows_shown: set[bytes] = set()
        for does in sorted(scored.tolist(), key=lambda does: int(above[does])):
            here = {field: values[at][does] for field, values in self._passage.items()}
            # In a text that begins with [CLS], two behaviours may have one row.
            row = here["query"].tobytes() + here["weight"].tobytes()
            if row in rows_shown or len(rows_shown) == STRONGEST:
                continue
            rows_shown.add(row)
            has_place = np.isfinite(here["place"])
            kept = (here[field][has_place] for field in ("place", "token", "weight"))
            yield {
                "does": self._named(str(self._result["does"].values[does])),
                "mean": _short(float(here["score"])),
                "query": self._shown[int(here["query_token"])].strip(),
                "place": int(here["query"]),
                "length": int(here["length"]),
                "tokens": [
                    [int(place), self._shown[int(token)], _short(weight)]
                    for place, token, weight in zip(*kept, strict=True)
                ],
            }
