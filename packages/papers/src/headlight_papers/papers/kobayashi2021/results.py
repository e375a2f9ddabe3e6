"""The mixing ratios of which all exhibits are made."""

from typing import Any

import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight_papers.papers.kobayashi2021.settings import Settings
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_notes, text_settings, text_source

METHODS = {
    "weight": "ATTN-W",
    "norm": "ATTN-N",
    "weight_residual": "ATTNRES-W",
    "norm_residual": "ATTNRES-N",
    "norm_residual_norm": "ATTNRESLN-N",
}
"""What the paper calls the scopes of the study."""

WHOLE = "norm_residual_norm"
"""The scope that the paper proposes."""


def load_mixing(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """The mixing ratios of the text."""
    settings = text_settings(reproduction)
    settings |= {"methods": ("mixing",), "masks": reproduction.masks}
    return reproduction.run("flow", text_source(reproduction), **settings)


def over_layers(found: xarray.Dataset, variable: str = "mixing", **where: Any) -> Estimate:
    """Return the mean over layers of the same texts."""
    return estimates(found, variable, ("layer",), **where).mean()


def notes_of(reproduction: Reproduction[Settings], found: xarray.Dataset) -> list[str]:
    """Return notes on the text, and on how much of it was masked."""
    masked = (
        f"{reproduction.masks:.0%} of the tokens are masked, chosen by the text and the seed; "
        "12%, at least one of each segment, in the code of the paper."
        if reproduction.masks
        else "No token is masked; 12% are in the code of the paper."
    )
    return [*text_notes(reproduction, found), masked]
