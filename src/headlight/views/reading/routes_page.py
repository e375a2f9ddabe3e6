"""Page of routes: the composition of a token after a layer, down to the input."""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.findings import token_labels
from headlight.findings.candidates import largest_said, unsaid
from headlight.findings.phrases import listed, percent, plural
from headlight.findings.piece_text import INSIDE
from headlight.findings.route_tracing import ways_to
from headlight.findings.routes import routes as sentences
from headlight.findings.segment_sums import sums_of
from headlight.findings.token_names import labels_of, note_of_places, parked, pieces_of
from headlight.findings.what_was_read import notes_of_reading
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.page_scripts import joined_script
from headlight.views.parts import Section, Table
from headlight.views.provenance import provenance
from headlight.views.reading.format import deflated
from headlight.views.reading.json_format import versions_of
from headlight.views.template import embedded, render
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import NUMBERING, head_name

MOST_PARTS = 60_000
"""Parts of heads in a page, which are some 12 bytes each."""
MODULES = ("bytes", "svg", "ways", "routes")
NAMED, MOST_CHANGES = 3, 20
"""Changes that a sentence names, and that a table shows."""
MOST_BARS = 6
"""Tokens that have a bar of their own."""
SUMS = ("residual", "bias", "forward")


def routes_page(routes: xr.Dataset) -> str:
    """Return routes as one self-contained HTML page, of 2 MB at most.

    Args:
        routes: Routes as `headlight.reading.routes.routes` makes them.
    """
    largest = largest_parts(routes, MOST_PARTS)
    least = float(largest.attrs["least"])
    answer = headline(routes)
    return render(
        "routes.html",
        title=f"Routes of “{text_title(routes.attrs)}”",
        headline=answer,
        traced=sentences(routes, **shown(routes))[1],
        more=_compared(routes),
        notes=notes_of_reading(routes),
        provenance=provenance(routes.attrs),
        data=embedded(_data(largest, least) | _opened(largest)),
        script=Markup(joined_script(MODULES)),
    )


def shown(routes: xr.Dataset) -> dict[str, Any]:
    """Return the token, the layer and the least share of the routes that are shown."""
    about = routes.attrs
    return {"token": int(about["token"]), "layer": int(about["layer"])} | {
        "least": float(about["least_shown"])
    }


def headline(routes: xr.Dataset) -> Headline:
    """Return of what the shown token is made as the title, and bars of what came from each."""
    chosen, labels = shown(routes), labels_of(routes, "query_token")
    token, (title, traced) = chosen["token"], sentences(routes, **chosen)
    direct = ways_to(routes, **chosen).direct
    order = largest_said(direct, [token])
    values = {f"“{labels[token]}” itself": direct[token]}
    values |= {f"from “{labels[at]}”": direct[at] for at in order[:MOST_BARS]}
    if rest := order[MOST_BARS:]:
        values[f"from {plural(len(rest), 'other token')}"] = direct[rest].sum()
    set_aside = [f"from “{labels[at]}”" for at in unsaid(routes, "query")]
    bars = value_bars(values, percent, set_aside)
    note = " ".join([traced, *_compared(routes)])
    picture = BarList(f"“{labels[token]}” after layer {chosen['layer']}", bars, note)
    read = f"{model_name(routes.attrs)} reads “{shortened(text_title(routes.attrs), 80)}”."
    places = note_of_places(routes, "query_token", " ".join([title, *values]))
    return Headline(title, f"{read} {NUMBERING}{places}", [picture], "routes of one text")


def findings(routes: xr.Dataset) -> list[str]:
    """Return what the token takes from others, and what it is made of at the input."""
    return [*sentences(routes, **shown(routes)), *_compared(routes)]


def _compared(routes: xr.Dataset) -> list[str]:
    """Return which heads take more or less than in the other text; nothing without one."""
    if "compare_text" not in routes.attrs:
        return []
    rows = changes(routes, unsaid(routes, "query"))[:NAMED].to_dict("records")
    named = [
        f"{row['head']} takes {100 * abs(row['difference']):.1f} points "
        f"{'more' if row['difference'] > 0 else 'less'} from “{row['takes from']}”"
        for row in rows
    ]
    if not named:
        return ["No kept part of the token differs from that in the other text."]
    return [f"Beside “{routes.attrs['compare_text']}”: {listed(named)}."]


def changes(routes: xr.Dataset, hidden: Sequence[int] = ()) -> pd.DataFrame:
    """Return by head what the shown token takes from others, here and in the other text.

    The largest difference stands first; for routes of one text there are no rows.

    Args:
        routes: Routes of two texts.
        hidden: Places of tokens that are left out.
    """
    columns = ["head", "takes from", "share", "other", "difference"]
    if "compare_share" not in routes:
        return pd.DataFrame(columns=columns)
    chosen, layers = shown(routes), routes["layer"].values.tolist()
    parts = routes.isel(part=routes["part_query"].values == chosen["token"])
    parts = parts.isel(part=~np.isin(parts["part_key"].values, [chosen["token"], *hidden]))
    parts = parts.isel(part=parts["part_layer"].values <= layers.index(chosen["layer"]))
    tokens, other_tokens = (
        [piece.label for piece in pieces_of(routes, name)]
        for name in ("query_token", "query_token_other")
    )
    pairs = zip(tokens, other_tokens, strict=True)
    labels = [token if token == other else f"{token} / {other}" for token, other in pairs]
    share, beside = parts["share"].values, parts["compare_share"].values
    frame = pd.DataFrame(
        {
            "head": [
                head_name(layers[at], head)
                for at, head in zip(
                    parts["part_layer"].values, parts["part_head"].values.tolist(), strict=True
                )
            ],
            "takes from": [labels[key] for key in parts["part_key"].values],
            "share": share,
            "other": beside,
            "difference": share - beside,
        }
    )
    frame = frame[frame["difference"] != 0]
    return frame.sort_values("difference", key=np.abs, ascending=False, kind="stable")


def by_segment(routes: xr.Dataset) -> pd.DataFrame:
    """Return the shares of the shown token by segment; without rows where a text has none."""
    ways = ways_to(routes, **shown(routes))
    takes, inputs = (sums_of(routes, shares) for shares in (ways.direct, ways.passing[0]))
    rows = [{"segment": name, "takes": takes[name], "input": inputs[name]} for name in takes]
    return pd.DataFrame(rows, columns=["segment", "takes", "input"])


def sections(routes: xr.Dataset) -> list[Section]:
    """Return the links between tokens on the way to the one that is shown, the largest first."""
    labels = token_labels(routes, "query")
    links = ways_to(routes, **shown(routes), hidden=parked(routes, "query")).links
    frame = pd.DataFrame(
        [
            {
                "layer": link.layer,
                "token": labels[link.token],
                "takes from": labels[link.source],
                "share": link.share,
                "by": ", ".join(
                    f"{head_name(link.layer, at)} {part:.1%}" for at, part in link.heads
                ),
            }
            for link in sorted(links, key=lambda link: -link.share)
        ],
        columns=["layer", "token", "takes from", "share", "by"],
    )
    title = f"{len(links)} links of at least {shown(routes)['least']:.1%} of the token"
    parts = [Section("links", title, tables=[Table("links", title, frame, {"share": ".1%"})])]
    if len(segments := by_segment(routes)):
        caption = "The token by segment: what it takes in any layer, and traced to the input"
        table = Table("segments", caption, segments, {"takes": ".1%", "input": ".1%"})
        parts.append(Section("segments", caption, tables=[table]))
    if len(differences := changes(routes)[:MOST_CHANGES]):
        caption = (
            "What heads take into the token in their layer, here and in the other text; less than "
            f"{routes.attrs['least']:.1%} is 0"
        )
        formats = dict.fromkeys(["share", "other", "difference"], ".1%")
        table = Table("changes", caption, differences, formats)
        parts.append(Section("changes", caption, tables=[table]))
    return parts


def routes_json(routes: xr.Dataset) -> str:
    """Return routes as one line of JSON: the contents of the page, and their origin.

    ``tokens`` and ``layers``; for each layer in ``sums`` the shares of each token (``residual``,
    ``bias``, ``forward``, and ``rest``: of heads, what is not kept) and the parts of heads, those
    of token ``i`` from ``begin[i]`` to ``begin[i + 1]`` of the lists ``key``, ``head`` and
    ``share``.
    """
    about = ("model", "revision", "kind", "text", "pair", "created", "command")
    attributes = {name: str(routes.attrs.get(name, "")) for name in about}
    data = {"stage": "routes", **attributes, "versions": versions_of(routes)}
    data |= _data(routes, float(routes.attrs["least"]))
    if len(sums := by_segment(routes)):
        data["by_segment"] = sums.to_dict("records")
    if "compare_text" in routes.attrs:
        data["compare_text"] = routes.attrs["compare_text"]
        data["changes"] = changes(routes).to_dict("records")
    return json.dumps(data, ensure_ascii=False)


def largest_parts(routes: xr.Dataset, most: int) -> xr.Dataset:
    """Return the largest parts of heads, at most this many; the others are added to ``rest``."""
    share = routes["share"].values
    if len(share) <= most:
        return routes
    least = float(np.partition(share, -most)[-most])
    largest, lost = routes.isel(part=share > least), routes.isel(part=share <= least)
    rest = routes["rest"].copy(deep=True)
    places = tuple(lost[f"part_{axis}"].values for axis in ("layer", "query", "key"))
    np.add.at(rest.values, places, lost["share"].values)
    return largest.assign(rest=rest).assign_attrs(least=least)


def _opened(routes: xr.Dataset) -> dict[str, Any]:
    """Return what the page opens on, and the parts that are not kept, each key's as a byte.

    Sums along the keys are rounded, so that the bytes of a token add up as its parts do.
    """
    rest = routes["rest"].values
    unit = max(float(rest.max()) / 254, 1e-9)
    sums = np.rint(np.cumsum(rest / unit, axis=-1))
    codes = np.diff(sums, axis=-1, prepend=0).astype(np.uint8)
    chosen = shown(routes)
    depth = routes["layer"].values.tolist().index(chosen["layer"]) + 1
    opened = {"token": chosen["token"], "layer": depth, "shown": chosen["least"]}
    return opened | {"unit": unit, "rest": b64encode(deflated(codes)).decode()}


def _data(routes: xr.Dataset, least: float) -> dict[str, Any]:
    pieces = pieces_of(routes, "query_token")
    tokens, blanks = [piece.label for piece in pieces], any(piece.mark == " " for piece in pieces)
    return {
        "tokens": tokens,
        "twice": [tokens.count(token) > 1 for token in tokens],
        "joined": [piece.mark == (INSIDE, "")[blanks] for piece in pieces],
        "parked": parked(routes, "query"),
        "unsaid": unsaid(routes, "query"),
        "causal": routes.attrs.get("kind") == "decoder",
        "segments": routes["query_segment"].values.tolist() if "query_segment" in routes else [],
        "layers": routes["layer"].values.tolist(),
        "least": least,
        "sums": [_sums(routes, place) for place in range(routes.sizes["layer"])],
    }


def _sums(routes: xr.Dataset, place: int) -> dict[str, list[float | None] | list[int]]:
    """Return the parts of a layer for the page: those of heads in the order of their queries."""
    chosen = np.flatnonzero(routes["part_layer"].values == place)
    query = routes["part_query"].values[chosen]
    chosen = chosen[np.argsort(query, kind="stable")]
    begin = np.searchsorted(np.sort(query), np.arange(routes.sizes["query"] + 1))
    sums: dict[str, list[float | None] | list[int]] = {
        name: _rounded(routes[name].values[place]) for name in SUMS
    }
    return sums | {
        "rest": _rounded(routes["rest"].values[place].sum(-1)),
        "begin": begin.tolist(),
        "key": routes["part_key"].values[chosen].tolist(),
        "head": routes["part_head"].values[chosen].tolist(),
        "share": _rounded(routes["share"].values[chosen]),
    }


def _rounded(values: np.ndarray) -> list[float | None]:
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]
