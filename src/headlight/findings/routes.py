"""Sentences on the routes of one token."""

from collections.abc import Sequence

import xarray as xr

from headlight.findings.candidates import largest_said, unsaid
from headlight.findings.phrases import listed, percent
from headlight.findings.route_tracing import Link, Ways, ways_to
from headlight.findings.segment_sums import sums_of
from headlight.findings.token_names import labels_of, parked
from headlight.vocabulary import head_name

_LEAST_NAMED, _MOST_NAMED = 0.02, 3
"""Tokens that a sentence names give this share at least, and are this many at most."""


def routes(result: xr.Dataset, token: int, layer: int | None, *, least: float) -> list[str]:
    """Say of which tokens the chosen token is made: what it takes itself, and traced on."""
    ways = ways_to(result, token, layer, least=least)
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
    traced = largest_said(inputs, [token, *unsaid(result, "query")])[:2]
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
    said = largest_said(ways.direct, [token, *unsaid(result, "query")])[:_MOST_NAMED]
    return [at for at in said if ways.direct[at] >= _LEAST_NAMED]


def strong_links(ways: Ways, named: Sequence[int]) -> list[Link]:
    """Return the largest link of each named token, and links half as large as the largest."""
    half = max((link.share for link in ways.links), default=0.0) / 2
    largest = [ways.most[at] for at in named]
    return [link for link in ways.links if link.share >= half or link in largest]


def _by(link: Link) -> str:
    return f" (largest part by {head_name(link.layer, link.heads[0][0])})" if link.heads else ""
