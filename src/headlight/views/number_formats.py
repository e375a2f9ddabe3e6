"""Numbers as pages and terminals write them: percentages, points, decimals and counts."""

import math
import re
from collections.abc import Callable

MISSING = "–"
MINUS = "−"
"""The sign before a number; as wide as a plus, unlike the hyphen."""


def percent_cell(value: float) -> str:
    """Return a share as a bare percentage: ``61``, ``6.1``, ``0``."""
    if not math.isfinite(value):
        return MISSING
    return _short(100 * value)


def whole_percent(value: float) -> str:
    """Return a share as a bare whole percentage: ``61``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:.0f}")


def percent_text(value: float) -> str:
    """Return a share with its sign: ``61.2%``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:.1f}%")


def points_text(value: float) -> str:
    """Return a difference of two shares in percentage points: ``+12.3 points``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:+.1f} points")


def points_cell(value: float) -> str:
    """Return a difference of two shares: ``+12``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:+.0f}")


def decimal(value: float) -> str:
    """Return a number with about three digits: ``0.312``, ``4.61``, ``19.9``, ``1234``."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e5 or size < 1e-3:
        return true_minus(f"{value:.2e}")
    return true_minus(f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}")


def decimal_cell(value: float) -> str:
    """Return a number short enough for a square: ``0.06``, ``4.61``, ``19.9``, ``1234``."""
    return two_decimals(value) if abs(value) < 10 else decimal(value)


def two_decimals(value: float) -> str:
    """Return a number with two decimals: ``0.31``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{value:.2f}")


def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign and these decimals, two by default: ``+0.31``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{value:+.{digits}f}")


def rank_text(value: float) -> str:
    """Return a mean of whole numbers: ``32``, ``31.4``."""
    return MISSING if not math.isfinite(value) else f"{value:.1f}".removesuffix(".0")


def plus_minus(half: float, *, share: bool = False) -> str:
    """Return half an interval to follow its number: `` ±3.1``, of a share in points; or nothing."""
    if not math.isfinite(half):
        return ""
    return f" ±{100 * half:.1f}" if share else f" ±{half:.1g}"


def true_minus(text: str) -> str:
    """Return a written number with the sign of its own, and a zero without any."""
    if re.fullmatch(r"[+-]0(\.0+)?(%| points)?", text):
        return text[1:]
    return text.replace("-", MINUS)


def grouped(value: float | int) -> str:
    """Return a count: ``121,134``."""
    return f"{value:,.0f}"


def _short(value: float) -> str:
    if abs(value) < 0.05:
        return "0"
    return true_minus(f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}")


Format = Callable[[float], str]

Number = int | float
