"""Points of single texts, which figures show."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from headlight.capture import AttentionSite
from headlight.observations.components import Component, name_of


def sampled_points(
    rows: Float64[np.ndarray, "text cell"],
    quantities: Sequence[str],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ``points`` of texts over ``point``, ``quantity`` and ``place``, and all coordinates.

    Args:
        rows: One row for each text, with every quantity at every component; rows that end with NaN
            are left out.
        quantities: Names of the quantities of a text.
        components: Components whose attention is replaced; they name places, layers and heads.
        sites: Layers under study.
    """
    finite = rows[np.isfinite(rows[:, -1])]
    points = finite.reshape(len(finite), len(quantities), len(components))
    coordinates: dict[str, Any] = {
        "quantity": list(quantities),
        "place": list(map(name_of, components)),
        "layer": [site.layer for site in sites],
    }
    if any(head is not None for _, head in components):
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    return {"points": (("point", "quantity", "place"), points)}, coordinates
