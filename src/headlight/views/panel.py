"""One panel of a figure: values by layer, a dot per head and a line through the means."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.findings import average
from headlight.views.markup import element, joined, number
from headlight.views.numbers import Format
from headlight.views.point_labels import STANDS_OUT, Box, Spot, point_labels
from headlight.views.scale import Number, Scale
from headlight.vocabulary import Marker, head_name

WIDTH, HEIGHT = 380, 262
LEFT, RIGHT, TOP, BOTTOM = 44, 368, 30, 222
_SHAPES: dict[Marker, str] = {
    "circle": "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
    "square": "m-3.1-3.1h6.2v6.2h-6.2z",
    "triangle": "m0-4.1l4 7h-8z",
    "diamond": "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "inverted triangle": "m0 4.1l-4-7h8z",
    "plus": "m-1.3-3.9h2.6v2.6h2.6v2.6h-2.6v2.6h-2.6v-2.6h-2.6v-2.6h2.6z",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel, with a dot per head where there are heads.

    Attributes:
        name: Class that gives the colour, e.g. ``sep``.
        label: What the legend and the tooltips call it.
        values: [layer, head]; a head axis of one with ``dots`` off for values by layer.
        shape: Of the markers on the line.
        dots: Whether each head is drawn.
    """

    name: str
    label: str
    values: NDArray[np.float64]
    shape: Marker = "circle"
    dots: bool = True

    @property
    def seen(self) -> bool:
        """Whether anything was observed."""
        return bool(np.isfinite(self.values).any())


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel shows: its title, its series, the range and the format of its values."""

    title: str
    series: Sequence[Series]
    domain: tuple[float, float]
    format: Format
    reference: tuple[float, str] | None = None
    marks: dict[str, float] = field(default_factory=dict)


def draw_panel(panel: Panel) -> Markup:
    """The panel as one SVG element."""
    series = [one for one in panel.series if one.seen]
    layers = len(panel.series[0].values)
    across = Scale(-0.5, layers - 0.5, LEFT + 4, RIGHT - 8)
    upward = Scale(*panel.domain, BOTTOM, TOP + 6)
    parts = [
        _title(panel.title),
        *value_axis(upward, panel.format),
        *_layer_axis(across, layers),
        *_reference(panel, upward),
        *_edge_marks(panel, upward),
    ]
    for index, one in enumerate(series):
        if one.dots:
            parts.append(_dots(one, panel, across, upward, _lane(index, len(series), across)))
    parts += [_line(one, across, upward) for one in series]
    parts += _names(series, panel, across, upward)
    return frame(f"{panel.title}. {_spoken(series, panel)}", parts)


def frame(label: str, parts: list[Markup]) -> Markup:
    """An SVG element of a panel's size, with the label that screen readers speak."""
    return element(
        "svg",
        joined(parts),
        class_="panel",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
    )


def swatch(name: str, shape: Marker) -> Markup:
    """A small sample of a line for the legend."""
    line = element("path", class_=f"line s-{name}", d="M1 8h22")
    marker = element("path", class_=f"marker s-{name}", d=f"M12 8{_SHAPES[shape]}")
    return element("svg", line, marker, class_="swatch", viewBox="0 0 24 16", aria_hidden="true")


def text(words: str, x: Number, y: Number, kind: str, anchor: str = "middle") -> Markup:
    """A text of a panel."""
    return element("text", words, x=float(x), y=float(y), class_=kind, text_anchor=anchor)


def _title(words: str) -> Markup:
    return text(words, LEFT - 38, 14, "panel-title", "start")


def value_axis(upward: Scale, format: Format) -> list[Markup]:
    """Lines across a panel at round values, with the values."""
    parts = []
    for tick in upward.ticks():
        y = upward(tick)
        kind = "axis" if tick == 0 else "rule"
        parts.append(element("path", class_=kind, d=f"M{LEFT} {number(y)}H{RIGHT}"))
        parts.append(text(_round(format(tick)), LEFT - 6, y + 4, "tick", "end"))
    return parts


def _round(words: str) -> str:
    """A tick without the zeros that its format adds: ``0.40`` is ``0.4``."""
    return words.rstrip("0").rstrip(".") if "." in words else words


def _layer_axis(across: Scale, layers: int) -> list[Markup]:
    step = max(1, -(-layers // 16))
    parts = [
        text(str(layer), across(layer), BOTTOM + 16, "tick") for layer in range(0, layers, step)
    ]
    return [*parts, text("layer", (LEFT + RIGHT) / 2, BOTTOM + 34, "axis-label")]


def _reference(panel: Panel, upward: Scale) -> list[Markup]:
    if panel.reference is None or not np.isfinite(panel.reference[0]):
        return []
    y = upward(panel.reference[0])
    return [
        element("path", class_="reference", d=f"M{LEFT} {number(y)}H{RIGHT}"),
        text(panel.reference[1], RIGHT, y - 5, "note", "end"),
    ]


def _edge_marks(panel: Panel, upward: Scale) -> list[Markup]:
    """Short marks at the right edge, e.g. the share of the tokens that a category is."""
    return [
        element("path", class_=f"edge s-{name}", d=f"M{RIGHT - 4} {number(upward(value))}h12")
        for name, value in panel.marks.items()
        if np.isfinite(value) and panel.domain[0] <= value <= panel.domain[1]
    ]


def _lane(index: int, lanes: int, across: Scale) -> float:
    """Where the dots of a series stand beside the layer's middle, so that series do not hide."""
    band = (across.end - across.start) / (across.high - across.low)
    return (index - (lanes - 1) / 2) * min(5.5, 0.72 * band / lanes)


def _dots(one: Series, panel: Panel, across: Scale, upward: Scale, lane: float) -> Markup:
    """All heads of a series as one path of round dots, named in ``data-heads``."""
    places = np.argwhere(np.isfinite(one.values)).tolist()
    spots, heads = [], []
    for layer, head in places:
        value = float(one.values[layer, head])
        spots.append(f"M{number(across(layer) + lane)} {number(upward(value))}h0")
        heads.append(f"{head_name(layer, head)} {panel.format(value)}")
    size = "small" if one.values.size > 300 else None
    return element(
        "path",
        class_=f"dots s-{one.name}" + (f" {size}" if size else ""),
        d="".join(spots),
        data_series=one.label,
        data_heads="|".join(heads),
    )


def _names(series: Sequence[Series], panel: Panel, across: Scale, upward: Scale) -> list[Markup]:
    """The heads that are far from the others of their layer, named."""
    spots: list[Spot] = []
    for index, one in enumerate(series):
        if one.dots and one.values.shape[1] > 1:
            lane = _lane(index, len(series), across)
            seen = np.isfinite(one.values).any(axis=1, keepdims=True)
            middle = np.nanmedian(np.where(seen, one.values, 0), axis=1, keepdims=True)
            apart = np.abs(one.values - middle) / (panel.domain[1] - panel.domain[0])
            spots += [
                Spot(
                    across(layer) + lane,
                    upward(float(one.values[layer, head])),
                    head_name(layer, head),
                    float(apart[layer, head]),
                )
                for layer, head in np.argwhere(apart > STANDS_OUT).tolist()
            ]
    return point_labels(spots, Box(LEFT, TOP - 8, WIDTH, BOTTOM))


def _line(one: Series, across: Scale, upward: Scale) -> Markup:
    means = average(one.values, axis=1)
    points = [(across(layer), upward(float(means[layer]))) for layer in range(len(means))]
    shown = [point for point, mean in zip(points, means, strict=True) if np.isfinite(mean)]
    path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in shown)
    parts = [element("path", class_=f"line s-{one.name}", d=path)]
    if len(means) <= 16:
        markers = "".join(f"M{number(x)} {number(y)}{_SHAPES[one.shape]}" for x, y in shown)
        parts.append(element("path", class_=f"marker s-{one.name}", d=markers))
    return joined(parts)


def _spoken(series: Sequence[Series], panel: Panel) -> str:
    """The layer means in words, for those who cannot see the figure."""
    words = []
    for one in series:
        means = average(one.values, axis=1)
        words.append(f"{one.label}: {', '.join(panel.format(float(mean)) for mean in means)}")
    return f"Mean by layer. {'; '.join(words)}."
