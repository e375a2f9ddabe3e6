"""The last sections of a survey: one head at a time, the residual stream, tokens of heads."""

import gzip
import json
from base64 import b64encode
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import name_of, observed, pieces_of, surveyed
from headlight.views.grid import anchor
from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from headlight.views.parts import Curve, Drawing, Section, Table, curves
from headlight.views.template import fragment
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO


def heads_section(result: xr.Dataset) -> Section:
    """All heads as points with axes that are chosen, and below it the one that was chosen."""
    places = head_places(result)
    if not places:
        return Section("each-head", "", "")
    of_heads = HeadDetails(result)
    details = [of_heads.of(layer, head) for layer, head in places]
    return Section(
        "each-head",
        "One head at a time",
        "Each point is a head, by any two of its numbers; a click, or a choice in the grid above, "
        "shows the head below: what it does with its rank among all heads, where in the corpus, "
        "from the texts in which its strongest link is weakest to those in which it is strongest, "
        "and from which tokens to which. Its name is its address, behind a #.",
        html=fragment(
            "heads.html",
            all=_packed(all_heads(result)),
            details=_packed(details),
        ),
    )


def _packed(value: Any) -> str:
    """JSON as pages carry it, a fifth of its size."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


COLUMNS = {
    "residual_max": ("largest entry", 1, ".1f"),
    "residual_ratio": ("times the median", 1, ".0f"),
    "residual_massive": ("texts with a massive one %", 100, ".0f"),
    "residual_length": ("first token, times the median length", 1, ".1f"),
    "residual_highest": ("highest of the corpus", 1, ".1f"),
    "residual_dimension": ("dimension", 1, ".0f"),
    "residual_place": ("place", 1, ".0f"),
}


def residual_section(result: xr.Dataset) -> Section:
    """Return the section on the size of the residual stream; empty where that is not known."""
    if not np.isfinite(observed(result, "residual_max", ("layer",))).any():
        return Section("residual", "", "")
    shown = (
        Curve("residual_max", panel="Largest entry of a text, mean"),
        Curve("residual_length", panel="First token, times the median length"),
    )
    columns: dict[str, object] = {"layer": result["layer"].values}
    columns |= {
        label: factor * observed(result, name, ("layer",))
        for name, (label, factor, _) in COLUMNS.items()
    }
    if "residual_token" in result:
        columns["token"] = [piece.label for piece in pieces_of(result, "residual_token")]
    formats = {label: format for label, _, format in COLUMNS.values()}
    return Section(
        "residual",
        "How large does the residual stream get?",
        "What enters each block, before it is normalised. An entry is massive if it is above "
        f"{MASSIVE} in size and at least {MASSIVE_RATIO:,} times the median entry of the text: few "
        "dimensions of few tokens, mostly the first, which heads then attend to.",
        "Sun et al. (2024), Section 2",
        [Drawing("residual", "", "Sizes by layer.", curves(result, *shown))],
        [Table("residual", "Largest entries, by layer", pd.DataFrame(columns), formats)],
    )


MOST_HEADS = 5
"""Heads that have a table."""
BY = 2
"""Measures that a table shows, the first of the survey."""


def token_section(result: xr.Dataset) -> Section:
    """The heads whose keys are least like the tokens of the corpus; nothing without tokens."""
    measures = [row for row in surveyed(result) if row.per_head][:BY]
    if "top_token" not in result or not measures:
        return Section("tokens", "", "")
    ranked = measures[-1].name
    divergence = observed(result, "token_divergence", side="key", measure=ranked)
    order = np.argsort(-np.nan_to_num(divergence, nan=-1).ravel(), kind="stable")[:MOST_HEADS]
    tables = []
    for place in order:
        layer, head = map(int, np.unravel_index(place, divergence.shape))
        if not divergence[layer, head] > 0:
            continue
        here = result.isel(layer=layer, head=head)
        columns: dict[str, object] = {}
        formats: dict[str, str] = {}
        for side, what in (("key", "attended to"), ("query", "attending")):
            for row in measures if side == "key" else measures[-1:]:
                part = here.sel(side=side, measure=row.name)
                label = f"{what}, {row.short}"
                columns[label] = _labels(part)
                columns[f"{label} %"] = 100 * observed(part, "top_token_share", ("top",))
                columns[f"{label} lift"] = observed(part, "top_token_lift", ("top",))
                formats |= {f"{label} %": ".1f", f"{label} lift": ".1f"}
        name = name_of(result, int(result["layer"].values[layer]), head)
        frame = pd.DataFrame(columns)
        frame = frame[(frame.iloc[:, ::3] != "").any(axis=1)]
        caption = f"Tokens of head {name}: {divergence[layer, head]:.2f} nats"
        tables.append(Table(f"tokens_{anchor(name)}", caption, frame, formats))
    covered = float(observed(result, "token_coverage", ("side",))[0])
    many = int(result.attrs["token_types"])
    said = (
        ""
        if covered > 1 - 1e-12
        else f"Of the vocabulary the first {many:,} tokens that occur are looked at, which are "
        f"{covered:.1%} of the text. "
    )
    return Section(
        "tokens",
        "Which tokens do heads attend to?",
        "The heads whose attention is least like the text: what tokens get, summed over the whole "
        f"corpus, against how often they stand there, by {measures[-1].short} (Kullback–Leibler "
        "divergence). A lift of 3 is three times as much as their frequency. Tokens are in the "
        f"order of share × ln lift. {said}What the first token of a text gets is left out; what a "
        "token gives is what goes neither to that nor to special tokens.",
        tables=tables,
    )


def _labels(part: xr.Dataset) -> list[str]:
    """The tokens as text; of two that are alike but for the blank before them, with that."""
    pieces = pieces_of(part, "top_token")
    alike = Counter(piece.label for piece in pieces)
    return [
        f"␣{piece.label}" if alike[piece.label] > 1 and piece.mark == " " else piece.label
        for piece in pieces
    ]
