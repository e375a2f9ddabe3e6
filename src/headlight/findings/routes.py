"""Sentences on the routes of one token."""

import numpy as np
import xarray as xr

from headlight.findings.candidates import unsaid
from headlight.findings.phrases import listed, percent
from headlight.findings.route_tracing import Link, ways_to
from headlight.findings.segment_sums import sums_of
from headlight.findings.token_names import labels_of, parked
from headlight.vocabulary import head_name

_LEAST_NAMED, _MOST_NAMED = 0.02, 3
"""Tokens that a sentence names give this share at least, and are this many at most."""


def routes(result: xr.Dataset, token: int, layer: int | None, *, least: float) -> list[str]:
    """Say of which tokens the chosen token is made: what it takes itself, and traced on."""
    ways, hidden = ways_to(result, token, layer, least=least), unsaid(result, "query")
    labels = [f"“{label}”" for label in labels_of(result, "query_token")]
    order = [at for at in np.argsort(-ways.direct, kind="stable").tolist() if at != token]
    named = [at for at in order if at not in hidden and ways.direct[at] >= _LEAST_NAMED]
    parts = [
        f"{percent(ways.direct[at])} from {labels[at]}{_by(ways.most[at]) if rank < 2 else ''}"
        for rank, at in enumerate(named[:_MOST_NAMED])
    ]
    own = f"{percent(ways.direct[token])} is still its own word."
    first = f"{labels[token]} takes {listed(parts) or 'little from other words'}; {own}"
    last = int(result["layer"].values[-1] if layer is None else layer)
    inputs = ways.passing[0]
    order = np.argsort(-inputs, kind="stable").tolist()
    traced = [at for at in order if at not in hidden and at != token and inputs[at] > 0][:2]
    inputs_said = [f"{percent(inputs[at])} is the input {labels[at]}" for at in traced]
    if ends := [at for at in parked(result, "query") if at != token]:
        share = percent(float(inputs[ends].sum()))
        inputs_said.append(f"{share} comes from {listed([labels[at] for at in ends])}")
    ending = f"After layer {last}, with what those tokens had taken before: {listed(inputs_said)}."
    if by_segment := sums_of(result, inputs):
        shares = listed([f"{name} {percent(share)}" for name, share in by_segment.items()])
        ending += f" By segment: {shares}."
    return [first, ending]


def _by(link: Link) -> str:
    return f" (most by {head_name(link.layer, link.heads[0][0])})" if link.heads else ""
