"""Ranges of axes and of colours that begin and end at round numbers."""

import math

from headlight.views.number_formats import Number


def round_step(span: float, most: int = 6) -> float:
    """Return the least of 1, 2, 5, 10, ... that cuts ``span`` into fewer than ``most`` pieces."""
    if not (math.isfinite(span) and span > 0):
        return 1.0
    rough = span / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    # The tolerance keeps rounding errors from choosing the next larger step.
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def round_domain(low: float, high: float, most: int = 6) -> tuple[float, float]:
    """Return the domain widened to round values; (0, 1) when there is nothing to show.

    Values that are below zero by a hair do not open a whole step below it.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    if high <= low:
        high = low + (abs(low) or 1.0)
    if _hair(low, high):
        return low, round_domain(0.0, high, most)[1]
    step = round_step(high - low, most)
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def _hair(low: Number, high: Number) -> Number:
    return -low if 0 < -low < 0.06 * high else 0
