"""Mixing ratios of the text, which the exhibits share."""

import xarray

from headlight_papers.papers.kobayashi2021 import Settings
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_settings, text_source

METHODS = {
    "weight": "ATTN-W",
    "norm": "ATTN-N",
    "weight_residual": "ATTNRES-W",
    "norm_residual": "ATTNRES-N",
    "norm_residual_norm": "ATTNRESLN-N",
}
"""Names of the scopes of the study in the paper."""

WHOLE = "norm_residual_norm"
"""Scope that the paper proposes."""


def load_mixing(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """Load the mixing ratios of the text."""
    settings = text_settings(reproduction)
    settings |= {"methods": ("mixing",), "masks": reproduction.masks}
    return reproduction.run("flow", text_source(reproduction), **settings)


def notes_of(reproduction: Reproduction[Settings], result: xarray.Dataset) -> list[str]:
    """Return notes on the text, and on how much of it was masked."""
    masked = (
        f"{reproduction.masks:.0%} of the tokens are masked, chosen by the text and the seed; "
        "12%, at least one of each segment, in the code of the paper."
        if reproduction.masks
        else "No token is masked; 12% are in the code of the paper."
    )
    return [*text_notes(reproduction, result), masked]
