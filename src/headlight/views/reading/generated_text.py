"""Generated text, token by token, as a table and in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import pieces_of, token_labels
from headlight.findings.candidates import largest_said, unsaid
from headlight.findings.phrases import percent, plural
from headlight.result.kinds import split_kinds
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.parts import Section, Table
from headlight.views.reading.weight_against_norm import shares_of_layer
from headlight.views.titles import last_message, model_name, shortened
from headlight.vocabulary import CONTRIBUTION

NAMED = 3
"""Tokens that a row of a generated text names."""

SHOWN = 12
"""Tokens that have a bar on a terminal, the first ones."""

ASIDE = "set aside:"
"""Name of the sum over tokens that are no word of the text, or get most for want of others."""


def generated(reading: xr.Dataset) -> pd.DataFrame:
    """Return a row for each generated token; without any where a text was given.

    It names the query that predicted it, and the token to which all heads give most of the norm.
    Tokens that are set aside stand at the end as one sum: special and unknown tokens, those of a
    template, and the first of a decoder.
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
    # Cross-attention, where there is any, shows what of the source a token is made of.
    parts = {kind: part for kind, part in split_kinds(reading).items() if "query_next" in part}
    return parts.get("cross", next(iter(parts.values()), None))


def sections(reading: xr.Dataset) -> list[Section]:
    """Return the generated tokens as a table."""
    table = Table(
        "generated", "Generated, token by token", generated(reading), {"probability": ".0%"}
    )
    return [Section("generated", table.caption, tables=[table])]


def headline(reading: xr.Dataset) -> Headline:
    """Return the generated text as the title, and how probable each of its tokens was."""
    frame, attributes = generated(reading), reading.attrs
    title, least = findings(reading)
    first = frame.head(SHOWN)
    tokens = [f"{at + 1} “{token}”" for at, token in enumerate(first["token"])]
    values = dict(zip(tokens, first["probability"].tolist(), strict=True))
    picture = BarList("Probability of the first tokens", value_bars(values, percent), least)
    read = f"Read by {model_name(attributes)}; each time the most probable token comes next."
    return Headline(title, read, [picture], "generated text")


def findings(reading: xr.Dataset) -> list[str]:
    """Return the generated text, and the token that was least certain."""
    frame, attributes = generated(reading), reading.attrs
    least = frame.iloc[int(frame["probability"].to_numpy().argmin())]
    prompt = shortened(last_message(attributes) or str(attributes["text"]), 60)
    answer = str(attributes["answer"]).strip(" ").replace("\n", "↵")
    return [
        f"{model_name(attributes)} goes on with “{prompt}”: “{answer}”.",
        f"Least certain of {plural(len(frame), 'token')}: “{least['token']}”, with a probability "
        f"of {least['probability']:.0%}.",
    ]
