"""The page of routes: what a token after a layer is made of, down to the input."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.findings import token_labels
from headlight.findings.piece_text import pieces_of, ways_to
from headlight.findings.what_was_read import notes_of_reading
from headlight.views.parts import Section, Table
from headlight.views.provenance import text_title
from headlight.views.reading.serial import versions_of
from headlight.views.template import embedded, joined_script, render
from headlight.vocabulary import NUMBERING, ROUTE, head_name

MOST_PARTS = 60_000
"""Parts of heads in a page, which are some 12 bytes each."""
MODULES = ("ways", "routes")
SUMS = ("residual", "bias", "forward", "rest")


def routes_page(routes: xr.Dataset) -> str:
    """Routes as one self-contained HTML page, of 2 MB at most.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
    """
    kept = largest_parts(routes, MOST_PARTS)
    least = float(kept.attrs["least"])
    versions = versions_of(routes)
    return render(
        "routes.html",
        title=text_title(routes.attrs) or "Routes",
        attributes=routes.attrs,
        notes=notes_of_reading(routes),
        numbering=NUMBERING,
        least=f"{least:.2%}",
        more="" if kept.sizes["part"] == routes.sizes["part"] else ", which would be too large",
        versions=list(versions.items()) if isinstance(versions, dict) else [("", versions)],
        data=embedded(_data(kept, least)),
        script=Markup(joined_script(MODULES)),
    )


def shown(routes: xr.Dataset) -> dict[str, Any]:
    """Return the token, the layer and the least share of the routes that are shown."""
    about = routes.attrs
    return {"token": int(about["token"]), "layer": int(about["layer"])} | {
        "least": float(about["least_shown"])
    }


def findings(routes: xr.Dataset) -> list[str]:
    """Return what the token is made of, by parts that are large enough."""
    chosen = shown(routes)
    labels, ways = token_labels(routes, "query"), ways_to(routes, **chosen)
    first = int(routes["layer"].values[0])
    ends = sorted({way.source for way in ways if way.layer == first})
    links = [way for way in ways if way.heads and way.source != way.token]
    return [
        f"“{labels[chosen['token']]}”, after layer {chosen['layer']}, is made of {len(ends)} of "
        f"{len(labels)} tokens of the input by parts of at least {chosen['least']:.1%}: "
        f"{', '.join(labels[end] for end in ends)}. {len(links)} links between tokens."
    ]


def sections(routes: xr.Dataset) -> list[Section]:
    """Return the links between tokens on the way to the one that is shown, the largest first."""
    labels = token_labels(routes, "query")
    links = [
        way for way in ways_to(routes, **shown(routes)) if way.heads and way.source != way.token
    ]
    frame = pd.DataFrame(
        [
            {
                "layer": way.layer,
                "token": labels[way.token],
                "takes from": labels[way.source],
                "share": way.share,
                "by": ", ".join(f"{head_name(way.layer, at)} {part:.1%}" for at, part in way.heads),
            }
            for way in sorted(links, key=lambda way: -way.share)
        ],
        columns=["layer", "token", "takes from", "share", "by"],
    )
    table = Table("links", "Links between tokens", frame, {"share": ".1%"})
    return [Section("links", "Links between tokens", tables=[table])]


def routes_json(routes: xr.Dataset) -> str:
    """Routes as one line of JSON: what the page holds, and where they are from.

    ``tokens`` and ``layers``; for each layer in ``sums`` the shares of each token (``residual``,
    ``bias``, ``forward``, ``rest``) and the parts of heads, those of token ``i`` from ``begin[i]``
    to ``begin[i + 1]`` of the lists ``key``, ``head`` and ``share``.
    """
    about = ("model", "revision", "kind", "text", "pair", "created", "command")
    told = {name: str(routes.attrs.get(name, "")) for name in about}
    data = {"stage": "routes", **told, "versions": versions_of(routes)}
    return json.dumps(data | _data(routes, float(routes.attrs["least"])), ensure_ascii=False)


def largest_parts(routes: xr.Dataset, most: int) -> xr.Dataset:
    """Return the largest parts of heads, at most this many; the others are added to ``rest``."""
    share = routes["share"].values
    if len(share) <= most:
        return routes
    least = float(np.partition(share, -most)[-most])
    kept, lost = routes.isel(part=share > least), routes.isel(part=share <= least)
    rest = routes["rest"].copy(deep=True)
    places = (lost["part_layer"].values, lost["part_query"].values)
    np.add.at(rest.values, places, lost["share"].values)
    return kept.assign(rest=rest).assign_attrs(least=least)


def _data(routes: xr.Dataset, least: float) -> dict[str, Any]:
    tokens = [piece.label for piece in pieces_of(routes, "query_token")]
    return {
        "tokens": tokens,
        "twice": [tokens.count(token) > 1 for token in tokens],
        "layers": routes["layer"].values.tolist(),
        "least": least,
        "shown": ROUTE,
        "predicted": [str(word) for word in routes["predicted"].values]
        if "predicted" in routes
        else [],
        "sums": [_sums(routes, place) for place in range(routes.sizes["layer"])],
    }


def _sums(routes: xr.Dataset, place: int) -> dict[str, list[float | None] | list[int]]:
    """Return the parts of a layer for the page: those of heads in the order of their queries."""
    chosen = np.flatnonzero(routes["part_layer"].values == place)
    query = routes["part_query"].values[chosen]
    chosen = chosen[np.argsort(query, kind="stable")]
    begin = np.searchsorted(np.sort(query), np.arange(routes.sizes["query"] + 1))
    found: dict[str, list[float | None] | list[int]] = {
        name: _rounded(routes[name].values[place]) for name in SUMS
    }
    return found | {
        "begin": begin.tolist(),
        "key": routes["part_key"].values[chosen].tolist(),
        "head": routes["part_head"].values[chosen].tolist(),
        "share": _rounded(routes["share"].values[chosen]),
    }


def _rounded(values: np.ndarray) -> list[float | None]:
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]
