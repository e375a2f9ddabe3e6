"""Section on the tokens that heads attend to."""

from collections import Counter

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import name_of, observed, pieces_of, surveyed
from headlight.views.head_grid import anchor
from headlight.views.parts import Section, Table

MOST_HEADS = 5
"""Number of heads that have a table."""
BY = 2
"""Number of measures in a table, the first of the survey."""


def token_section(result: xr.Dataset) -> Section:
    """Return the section on heads whose keys differ most from the corpus; empty without tokens."""
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
    scope = (
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
        f"order of share × ln lift. {scope}What the first token of a text gets is left out; what a "
        "token gives is what goes neither to that nor to special tokens.",
        tables=tables,
    )


def _labels(part: xr.Dataset) -> list[str]:
    """Return tokens as text, with the blank before them only if it tells two apart."""
    pieces = pieces_of(part, "top_token")
    alike = Counter(piece.label for piece in pieces)
    return [
        f"␣{piece.label}" if alike[piece.label] > 1 and piece.mark == " " else piece.label
        for piece in pieces
    ]
