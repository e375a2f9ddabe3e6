"""A reading for the terminal: the strongest links of the heads that stand out."""

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
from headlight.findings import equal_to_weight, name_of, observed, pieces_of, token_labels
from headlight.findings.candidates import APART, candidates, is_understood, largest_said, unsaid
from headlight.findings.estimates import plural
from headlight.findings.piece_text import parked
from headlight.findings.statistics import row_label, say_rows, statistics_of
from headlight.result.kinds import MULTI_KIND, split_for_display, split_kinds
from headlight.views.colour import MISSING, decimal, whole_percent
from headlight.views.parts import Section, Table
from headlight.views.provenance import model_name, shortened, text_title
from headlight.views.reading.serial import shares_of_layer
from headlight.views.terminal import terminal
from headlight.vocabulary import (
    ATTENTION,
    CONTRIBUTION,
    NUMBERING,
    measure as row_of,
    measure_names,
)

SHOWN = 20
"""Heads that are shown if nothing else is asked for."""
OFTEN = 0.25
"""The share of the rows from which on it is said that they give most to a special token."""
_COMMON = ("cls", "sep", "first")
"""Rows that most heads have much of."""


def reading_terminal(
    reading: xr.Dataset, measure: str, top: int, *, all_heads: bool = False
) -> RenderableType:
    """The strongest links of a reading: per head, or per layer where a measure has no heads.

    Of many heads those are shown that do something most which others do not. Links to special
    tokens, and in a decoder to the first, are counted. Several kinds of attention stand one below
    the other, each under its name.

    Args:
        reading: One reading.
        measure: One of pairs of tokens (`headlight.vocabulary.measure_names`).
        top: How many links of each head are shown.
        all_heads: Show all, in their order.

    Raises:
        UnknownNameError: There is no such measure of pairs of tokens, or not in this reading.
    """
    available = [name for name in measure_names() if name in reading]
    if measure not in available:
        raise UnknownNameError("measure", measure, available)
    blocks: list[RenderableType] = []
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
    """The strongest links of one kind of attention."""
    values = observed(part, measure, row_of(measure).axes)
    # A layer with fewer heads than others is filled up with what is no number.
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
            | {f"strongest links by {measure}: query → key, value": links.of(values[place])}
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


NAMED = 3
"""Tokens that a row of a generated text names."""

ASIDE = "set aside:"
"""Name of the sum over tokens that are no word of the text, or get most for want of others."""


def generated(reading: xr.Dataset) -> pd.DataFrame:
    """Return a row for each generated token; without any where a text was given.

    It names the query that predicted it, and what all heads together give most of the norm to.
    What is set aside stands at the end as one sum: special and unknown tokens, those of a template,
    and the first of a decoder.
    """
    part = _generating(reading)
    if part is None:
        return pd.DataFrame()
    measure = "norm" if "norm" in part else "weight"
    shares = np.mean(
        [np.nanmean(shares_of_layer(part, measure, at), 0) for at in range(part.sizes["layer"])], 0
    )
    keys, hidden = token_labels(part, "key"), unsaid(part, "key")
    added = part[CONTRIBUTION].values if CONTRIBUTION in part else None
    rows = []
    for at, (piece, query) in enumerate(
        zip(pieces_of(part, "query_next")[:-1], token_labels(part, "query"), strict=False)
    ):
        most = [
            f"{keys[key]} {shares[at, key]:.0%}" for key in largest_said(shares[at], hidden)[:NAMED]
        ]
        if hidden:
            most.append(f"{ASIDE} {np.nansum(shares[at, hidden]):.0%}")
        row = {"token": piece.label, "probability": float(part["query_probability"][at])}
        row |= {"predicted at": query, f"takes most from ({measure})": ", ".join(most)}
        if added is not None:
            parts = largest_said(np.abs(added[at]), hidden)[:NAMED]
            sums = [f"{keys[k]} {added[at, k]:+.2f}" for k in parts]
            if hidden:
                sums.append(f"{ASIDE} {np.nansum(added[at, hidden]):+.2f}")
            row["largest parts of its logit"] = ", ".join(sums)
        rows.append(row)
    return pd.DataFrame(rows)


def _generating(reading: xr.Dataset) -> xr.Dataset | None:
    """Return the kind of attention of a generated text that is shown first; None of other texts."""
    parts = {kind: part for kind, part in split_kinds(reading).items() if "query_next" in part}
    return parts.get("cross", next(iter(parts.values()), None))


def sections(reading: xr.Dataset) -> list[Section]:
    """Return the generated tokens as a table."""
    table = Table(
        "generated", "Generated, token by token", generated(reading), {"probability": ".0%"}
    )
    return [Section("generated", table.caption, tables=[table])]


def findings(reading: xr.Dataset) -> list[str]:
    """Return the generated text, and the token that was least certain."""
    frame, attributes = generated(reading), reading.attrs
    least = frame.iloc[int(frame["probability"].to_numpy().argmin())]
    prompt = shortened(text_title({**attributes, "pair": ""}), 60)
    answer = str(attributes["answer"]).replace("\n", "↵")
    return [
        f"{model_name(attributes)} goes on with “{prompt}”: “{answer}”.",
        f"Least certain of {plural(len(frame), 'token')}: “{least['token']}”, with a probability "
        f"of {least['probability']:.0%}.",
    ]


@dataclass(frozen=True)
class _Does:
    """Behaviour in which a head exceeds the average most: by how much, and in words."""

    far: float
    said: str


def _what_stands_out(part: xr.Dataset, measure: str) -> dict[tuple[int, ...], _Does]:
    """By place of layer and head: the share in which the head is farthest above the mean of all.

    Shares go to neighbours, to punctuation, or to the one other token of a row that gets most; what
    goes to special tokens, and in a decoder to the first, is what most heads do.  Heads that do
    nothing by ten points more than the others are left out.
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
    """The strongest links of a head, and how many rows give most to special tokens."""

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

    def of(self, values: NDArray[np.float64]) -> str:
        """The largest entries of [query, key], strongest first."""
        finite = np.where(np.isfinite(values), values, -np.inf)
        rows = [int(row.argmax()) for row in finite if np.isfinite(row).any() and row.max() > 0]
        special = Counter(key for key in rows if key in self._special)
        plain = finite.copy()
        if len(self._special) < finite.shape[1]:
            plain[:, self._unsaid] = -np.inf
            plain[self._silent] = -np.inf
        flat = plain.ravel()
        # What is masked, or 0, is no link.
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
