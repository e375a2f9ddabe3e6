"""Section on how far effective attention is from the weight."""

import numpy as np
import xarray as xr

from headlight.findings import observed
from headlight.findings.thresholds import FEWEST_TEXTS
from headlight.studies.survey.page.shares import has_numbers
from headlight.views.parts import Curve, Drawing, Section, curves

FEWEST_LENGTHS = 4
"""Smallest number of text lengths that make a curve."""


def correlation_section(result: xr.Dataset) -> Section:
    """Return the correlation of effective and raw attention, by length and by layer."""
    drawings = []
    counts = observed(result, "effective_correlation_count", ("length",))
    # One or two texts say nothing about their length, and few lengths are no curve.
    enough = np.flatnonzero(counts >= FEWEST_TEXTS)
    if len(enough) >= FEWEST_LENGTHS:
        drawn = result.isel(length=enough)
        by_length = curves(
            drawn,
            Curve(
                "effective_correlation",
                panel="Correlation by length of the text",
                over="length",
                error="effective_correlation_std",
                x_label="tokens in the text (from)",
                colour="effective",
                marked=True,
            ),
            Curve(
                "effective_correlation_count",
                panel="Examples of that length",
                over="length",
                x_label="tokens in the text (from)",
                marked=True,
            ),
        )
        words = "Correlation of effective and raw attention by length."
        drawings.append(Drawing("correlation_by_length", "", words, by_length))
    if has_numbers(result, "effective_correlation_by_head"):
        title = "Correlation by layer"
        curve = Curve("effective_correlation_by_head", panel=title, colour="effective")
        words = "Correlation of effective and raw attention by layer, a dot for each head."
        drawings.append(Drawing("correlation", "", words, curves(result, curve)))
    return Section(
        "correlation",
        "How far is effective attention from the weight?",
        "Pearson correlation of effective and raw attention. By length of the text, the band is "
        "one standard deviation over examples; once a text is longer than a head is wide, the two "
        "differ.",
        "Brunner et al. (2020), Figure 1a",
        drawings,
    )
