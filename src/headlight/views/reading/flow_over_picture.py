"""Origin of a position of a picture: shares of patches, drawn over it, and those of quarters."""

import re
from collections.abc import Sequence

import numpy as np
import xarray as xr
from markupsafe import Markup

from headlight.findings.flow import after
from headlight.findings.phrases import percent
from headlight.settings.flow import METHODS
from headlight.views.headline import Block
from headlight.views.html_elements import element
from headlight.views.number_formats import percent_text
from headlight.views.reading.format import PICTURE
from headlight.views.reading.headers import IS_PICTURE

STRONGEST = 0.85
"""Opacity of the patch with the largest share; that of others goes with the root of theirs."""

_PATCH = re.compile(r"(\d+)×(\d+)").fullmatch


def patches(result: xr.Dataset) -> dict[int, tuple[int, int]]:
    """Return row and column of each position that is a patch; nothing where a text was read."""
    names = result["key_token"].values if PICTURE in result.attrs else ()
    found = {at: _PATCH(str(name)) for at, name in enumerate(names)}
    return {at: (int(match[1]), int(match[2])) for at, match in found.items() if match}


def title_of_picture(result: xr.Dataset, method: str, place: int) -> str:
    """Return which quarter of the picture a position has most of, and what it has of itself.

    A row or column in the middle belongs to the upper or left half.

    Args:
        result: Flow of a picture.
        method: Method whose shares are said.
        place: Position that is followed.
    """
    at = patches(result)
    shares = result["share"].sel(map=method).isel(layer=-1, query=place).values
    places = np.array(list(at.values()))
    below, right = (2 * places >= 1 + places.max(0)).T
    quarter = 2 * below + right
    sums = np.bincount(quarter, shares[list(at)], 4)
    most = int(sums.argmax())
    name = f"{('upper', 'lower')[most // 2]} {('left', 'right')[most % 2]}"
    return (
        f"{after(result)}, {percent(sums[most])} of “{result['query_token'].values[place]}” comes "
        f"from the patches in the {name} ({percent(np.mean(quarter == most))} of the picture); "
        f"{percent(shares[place])} is itself."
    )


def over_picture(result: xr.Dataset, methods: Sequence[str], place: int) -> Block:
    """Return the picture once for each method, each patch coloured by its share of a position."""
    maps = Markup("").join(_map(result, method, place) for method in methods)
    title = f"What “{result['query_token'].values[place]}” is made of, by each method"
    return Block(title, element("div", maps, style="display: flex; flex-wrap: wrap; gap: 1rem"))


def _map(result: xr.Dataset, method: str, place: int) -> Markup:
    at, picture = patches(result), str(result.attrs[PICTURE])
    shares = result["share"].sel(map=method).isel(layer=-1, query=place).values
    height, width = 1 + np.max(list(at.values()), axis=0)
    largest = max(float(shares[list(at)].max()), 1e-12)
    cells = [
        element(
            "rect",
            element("title", f"{row}×{column}: {percent_text(float(shares[key]))}"),
            x=column,
            y=row,
            width=1,
            height=1,
            fill="var(--s-norm)",
            style=f"fill-opacity: {STRONGEST * (shares[key] / largest) ** 0.5:.3f}",
        )
        for key, (row, column) in at.items()
    ]
    label = f"{METHODS[method].label}: at most {percent_text(largest)} from a patch"
    size = {"width": int(width), "height": int(height)}
    image = element(
        "image", href=picture if IS_PICTURE(picture) else None, preserveAspectRatio="none", **size
    )
    box = {"viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": label}
    drawn = element("svg", image, Markup("").join(cells), **box)
    return element("div", element("p", label), drawn, style="flex: 1 1 16rem; max-width: 26rem")
