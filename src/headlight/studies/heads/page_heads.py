"""One head at a time: all that a survey knows of it, at its own address."""

import gzip
import json
from base64 import b64encode
from typing import Any

import xarray as xr

from headlight.views.head_numbers import HeadDetails, all_heads, head_places
from headlight.views.parts import Section
from headlight.views.template import fragment


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
