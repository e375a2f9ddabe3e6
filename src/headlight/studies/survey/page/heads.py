"""Sections on all heads: at a glance, and one at a time."""

import gzip
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import xarray as xr
from markupsafe import Markup

from headlight.findings import Highlight, surveyed
from headlight.result.kinds import MULTI_KIND
from headlight.views.head_grid import head_grid
from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from headlight.views.parts import Section
from headlight.views.template import embedded, fragment


def grid_section(result: xr.Dataset, highlighted: Sequence[Highlight]) -> Section:
    """Return all heads as squares, coloured by question and measure."""
    grid = head_grid(result, highlighted)
    kind = str(result.attrs.get("kind", ""))
    prefix = f"{kind}-" if MULTI_KIND in result.attrs else ""
    html = Markup()
    if grid:
        data = {
            "views": grid.views,
            "first": grid.first,
            "layers": result.sizes["layer"],
            "heads": result.sizes["head"],
            "measures": [row.name for row in surveyed(result)],
        }
        html = fragment("grid.html", grid=grid, p=prefix, kind=kind, data=embedded(data))
    return Section(
        "grid",
        "All heads at a glance",
        "Each square is a head. Choose one with the pointer or the arrow keys. The colours of a "
        "question keep their range from measure to measure, so that they can be compared.",
        html=html,
    )


def heads_section(result: xr.Dataset) -> Section:
    """Return the section of heads as points on selectable axes, with details of one head."""
    places = head_places(result)
    if not places:
        return Section("each-head", "", "")
    of_heads = HeadDetails(result)
    details = [of_heads.describe(layer, head) for layer, head in places]
    return Section(
        "each-head",
        "One head at a time",
        "What the head that is chosen does, with its rank among all heads, and where in the "
        "corpus. Its name is its address, behind a #.",
        html=fragment("heads.html", all=_packed(all_heads(result)), details=_packed(details)),
    )


def _packed(value: Any) -> str:
    # Compressed, the numbers take a fifth; without a time in it, the page is always the same.
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
