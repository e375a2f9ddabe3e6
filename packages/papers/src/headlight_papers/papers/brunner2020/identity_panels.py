"""Rates of identified tokens: how they are drawn and said."""

from typing import Any

import pandas

from headlight.views.parts import By
from headlight_papers.papers.brunner2020.identity_maps import LOSS_TITLES, MAP_TITLES

COLOURS = {"naive": "#59626d", "linear": "#0072b2", "mlp": "#d1500a"}
MAP, LOSS = By("map", MAP_TITLES), By("loss", LOSS_TITLES)
RATE: dict[str, Any] = {"percent": True, "y_label": "identified", "colour": COLOURS}
IDENTIFIED = (
    "A hidden token is identified if, of all input tokens of its sequence, its own is nearest to "
    "what a map makes of it; the map is the identity (naive), a matrix or an MLP, trained on other "
    "sequences to give back input tokens. Distance is the loss that it was trained with."
)


def list_rates(values: "pandas.Series[float]") -> str:
    """Return the rates of all layers as words."""
    return ", ".join(f"{value:.1f}%" for value in values) + "."
