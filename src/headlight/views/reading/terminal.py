"""Reading on a terminal: the strongest links of the heads that stand out."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.catalogue.statistics import MIN_ROWS
from headlight.errors import UnknownNameError
from headlight.files import printable
from headlight.findings import equal_to_weight, name_of, observed, token_labels
from headlight.findings.candidates import APART, candidates, is_understood, unsaid
from headlight.findings.phrases import plural
from headlight.findings.statistics import row_label, say_rows, statistics_of
from headlight.findings.token_names import parked
from headlight.result.kinds import MULTI_KIND, split_for_display
from headlight.views.number_formats import MISSING, decimal, whole_percent
from headlight.views.parts import Table
from headlight.views.reading.weight_against_norm import opening_sentence, shares_of_layer
from headlight.views.terminal import terminal
from headlight.views.titles import model_name
from headlight.vocabulary import (
    ATTENTION,
    NUMBERING,
    WEIGHT_AND_NORM,
    measure as row_of,
    measure_names,
)

SHOWN = 8
"""Number of heads that are shown by default."""
OFTEN = 0.25
"""The share of the rows from which on it is said that they give most to a special token."""
_COMMON = ("cls", "sep", "first")
"""Rows that most heads have much of."""


def reading_terminal(
    reading: xr.Dataset, measure: str, top: int, *, all_heads: bool = False
) -> RenderableType:
    """Return the sentence of the page, and the strongest links by head.

    Where a measure has no heads, links are shown by layer.

    If there are many heads, those are shown that stand out most from the others. Links to special
    tokens, and in a decoder to the first, are counted. Several kinds of attention stand one below
    the other, each under its name.

    Args:
        reading: Reading.
        measure: Measure of pairs of tokens (`headlight.vocabulary.measure_names`).
        top: Number of links shown for each head.
        all_heads: Whether to show all heads, in their order.

    Raises:
        UnknownNameError: There is no such measure of pairs of tokens, or not in this reading.
    """
    available = [name for name in measure_names() if name in reading]
    if measure not in available:
        raise UnknownNameError("measure", measure, available)
    blocks: list[RenderableType] = []
    if sentence := opening_sentence(reading):
        terms = f" {WEIGHT_AND_NORM}" if "of the norm" in sentence else ""
        read = f"Read by {model_name(reading.attrs)}.{terms}"
        blocks += [Text(printable(sentence), style="bold"), Text(printable(read), style="dim")]
        blocks.append(Text())
    for part in split_for_display(reading):
        kind = str(part.attrs.get("kind", ""))
        if MULTI_KIND in part.attrs or kind == "cross":
            blocks.append(Text(ATTENTION[kind], style="bold"))
        if measure == "effective" and (equal := equal_to_weight(part)):
            blocks.append(Text(f"Effective attention is {equal}."))
        blocks += _by_segment(part, measure)
        blocks.append(_strongest(part, measure, top, all_heads=all_heads))
    return Group(*blocks, Text(NUMBERING, style="dim"))


def _by_segment(part: xr.Dataset, measure: str) -> list[RenderableType]:
    """Return the shares of the named segments of a chat, as a table; nothing of other texts."""
    if "key_segment" not in part.coords:
        return []
    tokens = Counter(map(str, part["key_segment"].values))
    layers, heads = part["layer"].values.tolist(), part["head"].values.tolist()
    lines = []
    for row, by in statistics_of(part):
        if row.segment and measure in by:
            shares, most = by[measure].value, MISSING
            if (place := candidates(part, row, measure).first()) is not None:
                name = name_of(part, layers[place[0]], heads[place[1]])
                most = f"{name} {whole_percent(float(shares[place]))}%"
            lines.append(
                {
                    "segment": row.segment,
                    "tokens": tokens[row.segment],
                    "mean": f"{whole_percent(float(np.nanmean(shares)))}%",
                    "most": most,
                }
            )
    title = Text(f"Shares of the rows of heads by {measure}, by segment")
    table = terminal(Table("segments", "", pd.DataFrame(lines)), len(lines))
    return [title, table] if lines else []


def _strongest(part: xr.Dataset, measure: str, top: int, *, all_heads: bool) -> RenderableType:
    """Return the strongest links of one kind of attention."""
    values = observed(part, measure, row_of(measure).axes)
    # A layer with fewer heads than others is filled up with NaN.
    places = [at for at in np.ndindex(values.shape[:-2]) if np.isfinite(values[at]).any()]
    ranked = values.ndim == 4 and values.shape[-2] >= MIN_ROWS and is_understood(part)
    does = _what_stands_out(part, measure) if ranked else {}
    hidden = 0
    if len(places) > SHOWN and values.ndim == 4 and not all_heads:
        hidden = len(places) - SHOWN
        places = sorted(places, key=lambda at: -does[at].far if at in does else 0.0)[:SHOWN]
    links = _Links(part, top)
    layers, heads = part["layer"].values.tolist(), part["head"].values.tolist()
    rows = []
    for place in places:
        layer = layers[place[0]]
        name = name_of(part, layer, heads[place[1]]) if len(place) > 1 else str(layer)
        phrase = does[place].said if place in does else ""
        why = {"stands out": phrase} if does and hidden else {}
        rows.append(
            {"layer" if values.ndim == 3 else "head": name}
            | why
            | {f"strongest links by {measure}: query → key, value": links.describe(values[place])}
        )
    table = terminal(Table("links", "", pd.DataFrame(rows)), len(rows))
    notes = []
    if hidden and not does:
        if not is_understood(part):
            reason = "none is ranked for tokens that the tokenizer does not know"
        elif ranked:
            reason = "none does ten points more of anything than heads do on average"
        else:
            reason = (
                f"of {plural(values.shape[-2], 'row')} of attention none is ranked, only from "
                f"{MIN_ROWS} on"
            )
        notes.append(
            f"The first {SHOWN} of {hidden + SHOWN} heads: {reason}; --all-heads shows the others "
            "too."
        )
    elif hidden:
        notes.append(
            f"The {SHOWN} of {hidden + SHOWN} heads that do most what others do not, by the share "
            "of their rows; --all-heads shows the others too."
        )
    if links.places:
        notes.append("In brackets: the place of a token that is there twice, from 0.")
    return Group(table, *(Text(note, style="dim") for note in notes))


@dataclass(frozen=True)
class _Does:
    """Behaviour in which a head exceeds the average most: the excess, and words."""

    far: float
    said: str


def _what_stands_out(part: xr.Dataset, measure: str) -> dict[tuple[int, ...], _Does]:
    """Return, by layer and head, the share in which the head is farthest above the mean of all.

    Shares go to neighbours, to punctuation, or to the other token of a row that gets most; those to
    special tokens, and in a decoder to the first, are left out, as most heads have them.  Heads
    that do nothing by ten points more than the others are left out, too.
    """
    named: dict[str, NDArray[np.float64]] = {}
    allowed: list[NDArray[np.bool_]] = []
    for row, by in statistics_of(part):
        if (
            row.unit == "share"
            and row.target
            and row.prominent
            and row.name not in _COMMON
            and measure in by
        ):
            rows = say_rows(part, row)
            named[f"{row_label(part, row)}{f' ({rows})' if rows else ''}"] = by[measure].value
            allowed.append(np.isfinite(candidates(part, row, measure).value))
    named["to one other token"] = np.stack(
        [_to_another(part, measure, layer) for layer in range(part.sizes["layer"])]
    )
    shares = np.stack(list(named.values()))
    far = np.nan_to_num(shares - np.nanmean(shares, axis=(1, 2), keepdims=True), nan=-1.0)
    far[: len(allowed)][~np.array(allowed, dtype=bool)] = -1.0
    labels = list(named)
    return {
        at: _Does(
            float(far[best, *at]), f"{whole_percent(float(shares[best, *at]))}% {labels[best]}"
        )
        for at in np.ndindex(far.shape[1:])
        for best in [int(far[:, *at].argmax())]
        if far[best, *at] >= APART
    }


def _to_another(part: xr.Dataset, measure: str, layer: int) -> NDArray[np.float64]:
    """Return the mean, over rows, of the largest share of a token that is said and not near."""
    shares = np.nan_to_num(shares_of_layer(part, measure, layer))
    queries, keys = shares.shape[-2:]
    plain = np.ones((queries, keys), dtype=bool)
    plain[:, unsaid(part, "key")] = False
    if part.attrs.get("kind") != "cross":
        positions = part["query"].values if "query" in part.coords else np.arange(queries)
        plain &= np.abs(np.asarray(positions)[:, None] - np.arange(keys)) > 1
    return np.asarray(np.where(plain, shares, 0.0).max(-1).mean(-1))


class _Links:
    """Strongest links of a head, and the number of rows that give most to special tokens."""

    def __init__(self, part: xr.Dataset, top: int) -> None:
        self._queries, self._keys = (token_labels(part, side) for side in ("query", "key"))
        self._special, self._unsaid = parked(part, "key"), unsaid(part, "key")
        hidden = parked(part, "query")
        self._silent = [at for at in unsaid(part, "query") if at not in hidden]
        self._top = top
        self.places = any(
            len(set(pieces)) < len(pieces)
            for pieces in (part[f"{side}_token"].values.tolist() for side in ("query", "key"))
        )

    def describe(self, values: NDArray[np.float64]) -> str:
        """Return the largest entries of [query, key], strongest first."""
        finite = np.where(np.isfinite(values), values, -np.inf)
        rows = [int(row.argmax()) for row in finite if np.isfinite(row).any() and row.max() > 0]
        special = Counter(key for key in rows if key in self._special)
        plain = finite.copy()
        if len(self._special) < finite.shape[1]:
            plain[:, self._unsaid] = -np.inf
            plain[self._silent] = -np.inf
        flat = plain.ravel()
        # A cell that is masked, or 0, is no link.
        order = [i for i in np.argsort(-flat, kind="stable")[: self._top] if flat[i] > 0]
        words = [
            f"{self._queries[query]} → {self._keys[key]} {decimal(float(flat[index]))}"
            for index in order
            for query, key in [divmod(int(index), finite.shape[1])]
        ] or [MISSING]
        words += [
            f"most to {self._keys[key]} in {count} of {len(rows)} rows"
            for key, count in special.most_common()
            if count >= OFTEN * len(rows)
        ]
        return "   ".join(words)
