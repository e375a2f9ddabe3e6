"""The panel of a value by text length, with its spread and the number of texts."""

import numpy as np
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.findings import observed
from headlight.findings.rules import FEWEST_TEXTS
from headlight.views.markup import element, joined, number
from headlight.views.numbers import grouped, two_decimals
from headlight.views.panel import BOTTOM, LEFT, RIGHT, TOP, frame, text
from headlight.views.scale import Scale, round_domain

_BAR = 34.0
"""Height of the tallest bar of the counts."""


def correlation_panel(result: xr.Dataset) -> list[Markup]:
    """Correlation of effective and raw attention by length (Brunner et al. 2020, Figure 1a).

    The list is empty when nothing was observed.
    """
    mean = observed(result, "effective_correlation", ("length",))
    # One or two texts say nothing about their length, and one length nothing about others.
    few = observed(result, "effective_correlation_count", ("length",)) < FEWEST_TEXTS
    seen = np.flatnonzero(np.isfinite(mean) & ~few)
    if len(seen) < 2:
        return []
    bins = slice(int(seen[0]), int(seen[-1]) + 1)
    mean = mean[bins]
    spread = np.nan_to_num(observed(result, "effective_correlation_std", ("length",))[bins])
    count = np.nan_to_num(observed(result, "effective_correlation_count", ("length",))[bins])
    edges = result["length"].values[bins]
    low = min(float(np.nanmin(mean - spread)), 0.9)
    upward = Scale(*round_domain(min(low, 0.0) if low < 0.2 else low, 1.0), BOTTOM - 44, TOP + 6)
    across = Scale(-0.5, len(mean) - 0.5, LEFT + 4, RIGHT - 8)
    parts = [
        text("Correlation by length of the text", LEFT - 38, 14, "panel-title", "start"),
        *_axes(upward, across, edges),
        *_bars(across, count),
        _band(across, upward, mean, spread),
        _means(across, upward, mean, edges, count),
    ]
    return [frame(_spoken(mean, edges), parts)]


def _axes(upward: Scale, across: Scale, edges: NDArray[np.generic]) -> list[Markup]:
    parts = []
    for tick in upward.ticks():
        y = upward(tick)
        parts.append(element("path", class_="rule", d=f"M{LEFT} {number(y)}H{RIGHT}"))
        parts.append(text(f"{tick:g}", LEFT - 6, y + 4, "tick", "end"))
    parts.append(element("path", class_="axis", d=f"M{LEFT} {BOTTOM}H{RIGHT}"))
    step = max(1, -(-len(edges) // 9))
    parts += [
        text(f"{edges[index]:g}", across(index), BOTTOM + 16, "tick")
        for index in range(0, len(edges), step)
    ]
    label = "tokens in the text (lower edge of the bin)"
    return [*parts, text(label, (LEFT + RIGHT) / 2, BOTTOM + 34, "axis-label")]


def _bars(across: Scale, count: NDArray[np.float64]) -> list[Markup]:
    if count.max() <= 0:
        return []
    width = 0.7 * (across(1) - across(0))
    return [
        element(
            "path",
            element("title", f"{grouped(float(documents))} examples"),
            class_="bar",
            d=f"M{number(across(index) - width / 2)} {BOTTOM}h{number(width)}"
            f"v{number(-_BAR * float(documents / count.max()))}h{number(-width)}z",
        )
        for index, documents in enumerate(count)
        if documents > 0
    ]


def _band(
    across: Scale, upward: Scale, mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> Markup:
    """One standard deviation to either side; a correlation cannot pass 1."""
    seen = np.flatnonzero(np.isfinite(mean))
    high = [(across(i), upward(min(float(mean[i] + spread[i]), 1.0))) for i in map(int, seen)]
    low = [
        (across(i), upward(max(float(mean[i] - spread[i]), upward.low)))
        for i in map(int, seen[::-1])
    ]
    path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in high + low) + "z"
    return element("path", class_="band s-effective", d=path)


def _means(
    across: Scale,
    upward: Scale,
    mean: NDArray[np.float64],
    edges: NDArray[np.generic],
    count: NDArray[np.float64],
) -> Markup:
    seen = np.flatnonzero(np.isfinite(mean))
    places = [f"{number(across(i))} {number(upward(float(mean[i])))}" for i in map(int, seen)]
    names = [
        f"{edges[i]:g} tokens and more, {grouped(float(count[i]))} examples: "
        f"{two_decimals(float(mean[i]))}"
        for i in map(int, seen)
    ]
    line = element("path", class_="line s-effective", d="M" + "L".join(places))
    dots = element(
        "path",
        class_="dots large s-effective",
        d="".join(f"M{place}h0" for place in places),
        data_series="correlation",
        data_heads="|".join(names),
    )
    return joined([line, dots])


def _spoken(mean: NDArray[np.float64], edges: NDArray[np.generic]) -> str:
    words = [
        f"{edge:g}: {two_decimals(float(value))}" for edge, value in zip(edges, mean, strict=True)
    ]
    return f"Correlation of effective and raw attention by length. {', '.join(words)}."
