"""Sentences on the routes of one token."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headlight.findings.candidates import unsaid
from headlight.findings.phrases import listed, percent
from headlight.findings.route_tracing import Link, Ways, ways_to
from headlight.findings.segment_sums import sums_of
from headlight.findings.token_names import labels_of, parked
from headlight.vocabulary import head_name

_LEAST_NAMED, _MOST_NAMED = 0.02, 3
"""Tokens that a sentence names give this share at least, and are this many at most."""


def routes(result: xr.Dataset, token: int, layer: int | None, *, least: float) -> list[str]:
    """Say of which tokens the chosen token is made: what it takes itself, and traced on."""
    ways, hidden = ways_to(result, token, layer, least=least), unsaid(result, "query")
    labels = [f"“{label}”" for label in labels_of(result, "query_token")]
    parts = [
        f"{percent(ways.direct[at])} {'' if rank else 'came '}from {labels[at]}"
        f"{_by(ways.most[at]) if rank < 2 else ''}"
        for rank, at in enumerate(named_sources(result, ways, token))
    ]
    last = int(result["layer"].values[-1] if layer is None else layer)
    own = f"After layer {last} {labels[token]} is {percent(ways.direct[token])} itself"
    first = f"{own}; {listed(parts) or 'little came from other words'}."
    inputs = ways.passing[0]
    order = np.argsort(-inputs, kind="stable").tolist()
    traced = [at for at in order if at not in hidden and at != token and inputs[at] > 0][:2]
    inputs_said = [f"{percent(inputs[at])} is {labels[at]}" for at in traced]
    if ends := [at for at in parked(result, "query") if at != token]:
        share = percent(float(inputs[ends].sum()))
        inputs_said.append(f"{share} is {listed([labels[at] for at in ends])}")
    ending = f"Traced to the input, through what those tokens had taken: {listed(inputs_said)}."
    if by_segment := sums_of(result, inputs):
        shares = listed([f"{name} {percent(share)}" for name, share in by_segment.items()])
        ending += f" By segment: {shares}."
    return [first, ending]


def named_sources(result: xr.Dataset, ways: Ways, token: int) -> list[int]:
    """Return the places of the tokens that the title names, those that give most first."""
    hidden = [token, *unsaid(result, "query")]
    order = [at for at in np.argsort(-ways.direct, kind="stable").tolist() if at not in hidden]
    return [at for at in order if ways.direct[at] >= _LEAST_NAMED][:_MOST_NAMED]


def strong_links(ways: Ways, named: Sequence[int]) -> list[Link]:
    """Return the links that a picture stresses.

    They are the largest of each token that the title names, and those that bring half as much as
    the largest of all.

    Args:
        ways: Ways of a token.
        named: Places of the tokens that the title names.
    """
    half = max((link.share for link in ways.links), default=0.0) / 2
    largest = [ways.most[at] for at in named]
    return [link for link in ways.links if link.share >= half or link in largest]


def _by(link: Link) -> str:
    return f" (largest part by {head_name(link.layer, link.heads[0][0])})" if link.heads else ""
