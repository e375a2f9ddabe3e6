"""Colours and markers of series, and ramps of colours, for light and for dark pages.

There is one colour for each measure and category. Each ramp runs in even steps of lightness, so
that it is read the same by colour-blind people and in print; the two-sided ramp (blue to orange)
is one that they can tell apart.
"""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue.statistics import KEY_CLASSES
from headlight.vocabulary import NEIGHBOURS, Colour, Marker, measure_table

LEVELS = 21
"""Steps of a ramp: class ``q0`` is the lowest, ``q20`` the highest."""

Theme = Literal["light", "dark"]
_Stops = tuple[str, ...]

_LIGHT: dict[str, _Stops] = {
    "blue": ("#f3f5f8", "#b9cfea", "#6f9fd8", "#2f6ab5", "#0f3a7a"),
    "orange": ("#f8f5f1", "#f3cfa6", "#e39a4f", "#b8640f", "#7a3c00"),
    "purple": ("#f7f3f7", "#e6c3e0", "#c885bd", "#98478f", "#5f1d5c"),
    "green": ("#f2f6f4", "#b7dccb", "#6db69b", "#2c8069", "#0c4d3f"),
    "change": ("#0f3a7a", "#5f93d2", "#f2f2f0", "#dc9347", "#7a3c00"),
}
_DARK: dict[str, _Stops] = {
    "blue": ("#1c232c", "#254468", "#356fae", "#6aa5e4", "#cfe4fb"),
    "orange": ("#26211b", "#5a3a18", "#a5661c", "#e6a04e", "#fbe3c2"),
    "purple": ("#251e26", "#532c52", "#924c8c", "#cf8cc7", "#f6dcf2"),
    "green": ("#1b2522", "#204c40", "#2f8069", "#6cbfa3", "#d3f2e5"),
    "change": ("#a9ceff", "#3f7cc0", "#24272b", "#b8721f", "#ffd39a"),
}
# Only lines are red: a ramp of it would be taken for the orange one.
for _ramps in (_LIGHT, _DARK):
    _ramps["red"] = _ramps["green"]
THEMES: dict[Theme, dict[str, _Stops]] = {"light": _LIGHT, "dark": _DARK}


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """Style of a series: its colour on light and on dark pages, and its marker."""

    light: str
    dark: str
    marker: Marker


_LINES: dict[Colour, tuple[str, str]] = {
    "blue": ("#2f6ab5", "#6aa5e4"),
    "orange": ("#c06a12", "#e6a04e"),
    "purple": ("#a04a96", "#d590cc"),
    "green": ("#2c8069", "#6cbfa3"),
    "red": ("#801500", "#e0826a"),
}
_GROUPS = (
    SeriesStyle("#8a5a00", "#d9a941", "inverted triangle"),
    SeriesStyle("#0072b2", "#56b4e9", "triangle"),
    SeriesStyle("#d1500a", "#f0793a", "square"),
    SeriesStyle("#00896b", "#35c09b", "diamond"),
    SeriesStyle("#50565e", "#c3c8ce", "circle"),
    SeriesStyle("#7b3294", "#c99be0", "triangle"),
    SeriesStyle("#6b7178", "#a3abb4", "circle"),
    SeriesStyle("#14803c", "#63c583", "square"),
)
"""Styles of kinds of key, then of neighbours, in the order of their tables."""


def series_styles() -> dict[str, SeriesStyle]:
    """Return the style of each kind of key, neighbour and measure, the same in every figure."""
    return dict(zip((*KEY_CLASSES, *NEIGHBOURS), _GROUPS, strict=True)) | {
        row.name: SeriesStyle(*_LINES[row.colour], row.marker)
        for row in measure_table()
        if row.pairwise
    }


def level(value: float, low: float, high: float) -> int:
    """Return the ramp's step, 0 to ``LEVELS - 1``, for a value between ``low`` and ``high``."""
    if high <= low:
        return 0
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return round(share * (LEVELS - 1))


def ramp(theme: Theme, scale: str) -> list[str]:
    """Return the colours of a scale, lowest first, as ``#rrggbb``.

    Args:
        theme: Theme of the page.
        scale: Colour, ``change`` for the two-sided ramp, or a measure, which has a colour.
    """
    colours = {row.name: row.colour for row in measure_table()}
    stops = [_channels(stop) for stop in THEMES[theme][colours.get(scale, scale)]]
    return [_between(stops, index / (LEVELS - 1)) for index in range(LEVELS)]


def ramp_variables(theme: Theme) -> str:
    """Return CSS declarations of all scales: ``--blue-7``, and ``--on-blue-7`` for text on it."""
    return "".join(
        f"--{scale}-{index}:{colour};--on-{scale}-{index}:{text_colour(colour)};"
        for scale in THEMES[theme]
        for index, colour in enumerate(ramp(theme, scale))
    )


def series_variables(theme: Theme) -> str:
    """Return CSS declarations of the colours of series: ``--s-sep`` is one."""
    return "".join(
        f"--s-{name}:{style.light if theme == 'light' else style.dark};"
        for name, style in series_styles().items()
    )


def series_rules() -> str:
    """Return CSS rules that give class ``s-sep`` its colour."""
    return "".join(f".s-{name}{{--series:var(--s-{name})}}" for name in series_styles())


def ramp_rules() -> str:
    """Return CSS rules that give class ``q7`` inside ``.scale-blue`` its colours."""
    return "".join(
        f".scale-{scale} .q{index}{{--cell:var(--{scale}-{index});"
        f"--on-cell:var(--on-{scale}-{index})}}"
        for scale in _LIGHT
        for index in range(LEVELS)
    )


def text_colour(colour: str) -> str:
    """Return dark or light text, whichever stands out more on a colour."""
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, colour))


def text_in_figures(colour: str) -> str:
    """Return dark or light text, readable on a colour of a figure on light and on dark pages."""
    return max(
        ("#000000", "#ffffff"),
        key=lambda text: min(contrast(text, colour), contrast(on_dark(text), on_dark(colour))),
    )


def on_dark(colour: str) -> str:
    """Return the colour of a figure on dark pages, by the filter of `palette.css`.

    Lightness is turned round, and then hue by half a circle, as the Filter Effects Module defines
    ``invert(1)`` and ``hue-rotate(180deg)``.
    """
    turned = [255 - channel for channel in _channels(colour)]
    grey = sum(part * channel for part, channel in zip((0.213, 0.715, 0.072), turned, strict=True))
    channels = (min(max(round(2 * grey - channel), 0), 255) for channel in turned)
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, 1 to 21 (Web Content Accessibility Guidelines 2.1)."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (value / 255 for value in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _between(stops: list[tuple[int, int, int]], share: float) -> str:
    position = share * (len(stops) - 1)
    lower = min(int(position), len(stops) - 2)
    part = position - lower
    pairs = zip(stops[lower], stops[lower + 1], strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)
