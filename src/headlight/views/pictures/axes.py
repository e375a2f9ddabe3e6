"""Axes of a panel: their ranges and ticks, and values to compare with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headlight.views.number_formats import Number
from headlight.views.pictures.panels import NAME
from headlight.views.pictures.theme import PAPER, QUIET, SMALL, Axes
from headlight.views.titles import shortened

_DECADES = 5
"""Ticks of a logarithmic axis, at most: a panel has no room for more of ``1e-4``."""

_NARROW, _FEW_DECADES = 0.7, 2.0
"""Powers of ten that a logarithmic axis spans: below the first its ticks are evenly spaced numbers,
below the second there are ticks between powers."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Value to compare with, as a dashed line across the panel.

    Attributes:
        value: Value on the vertical axis.
        label: Label beside the line.
        upright: Whether the value is on the horizontal axis and the line upright.
    """

    value: Number
    label: str = ""
    upright: bool = False


def values_up(axes: Axes, *, percent: bool, limits: tuple[Number, Number] | None) -> None:
    """Draw faint rules across, and the vertical axis as percentages or numbers."""
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)
    if percent:
        axes.yaxis.set_major_formatter(percentages)
    if limits is not None:
        axes.set_ylim(*limits)


def share_range(panels: Sequence[Axes]) -> None:
    """Set one vertical range for panels of the same unit, so that they can be compared."""
    limits = [axes.get_ylim() for axes in panels]
    for axes in panels:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def free_shares(axes: Sequence[Axes], panels: Sequence[Any]) -> list[Axes]:
    """Return the axes of the panels that show shares and have no limits of their own."""
    return [
        panel_axes
        for panel_axes, panel in zip(axes, panels, strict=True)
        if panel.percent and panel.limits is None
    ]


def percentages(value: Number, _place: object = None) -> str:
    """Return a share as a tick: ``40%``."""
    return f"{100 * value:.4g}%"


def powers(value: Number, _place: object = None) -> str:
    """Return a tick of a logarithmic axis in plain characters: ``0.01``, ``10``, ``1e6``."""
    return (
        f"{value:,.10g}"
        if 1e-4 < value < 1e6
        else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )


def logarithms(axes: Axes, *, x: bool, y: bool) -> None:
    """Make the axes logarithmic where requested."""
    for wanted, scale, axis in ((x, axes.set_xscale, axes.xaxis), (y, axes.set_yscale, axes.yaxis)):
        if wanted:
            scale("log")
            _few_ticks(axis)


def _few_ticks(axis: Any) -> None:
    """Set few plain ticks on a logarithmic axis, where matplotlib would set mathematics.

    They are powers of ten, and between two of them 2 and 5 times the lower one as well.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else _DECADES
    if decades < _NARROW:
        axis.set_major_locator(MaxNLocator(_DECADES))
    else:
        subs = (1.0, 2.0, 5.0) if decades < _FEW_DECADES else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=_DECADES))
    axis.set_major_formatter(FuncFormatter(powers))
    axis.set_minor_formatter(NullFormatter())


def whole_numbers(axis: Any) -> None:
    """Set ticks at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def refer_to(axes: Axes, references: Sequence[Reference]) -> None:
    """Draw dashed lines across a panel, each with its name at the right end."""
    for reference in references:
        if math.isfinite(reference.value):
            _refer(axes, reference)


def _refer(axes: Axes, reference: Reference) -> None:
    """Draw the line of a reference, with its name at the right end or, if upright, at the foot."""
    value: Any = reference.value
    line: dict[str, Any] = {"color": QUIET, "linewidth": 1.0, "dashes": (4, 3), "zorder": 1.5}
    if reference.upright:
        axes.axvline(value, **line)
        place, transform, offset, side = (value, 0.0), axes.get_xaxis_transform(), (3, 3), "left"
    else:
        axes.axhline(value, **line)
        place, transform, offset, side = (1.0, value), axes.get_yaxis_transform(), (0, 3), "right"
    text = axes.annotate(
        shortened(reference.label, NAME),
        place,
        xycoords=transform,
        xytext=offset,
        textcoords="offset points",
        ha=side,
        va="bottom",
        color=QUIET,
        fontsize=SMALL,
        fontstyle="italic",
    )
    text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.3})
