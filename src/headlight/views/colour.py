"""Colours, numbers and labels as they are drawn.

Colours and markers: of series, one per measure and category, and of ramps; for both themes.
Each ramp runs in even steps of lightness, so that it is read the same by colour-blind people and
in print; the two-sided ramp (blue to orange) is one that they can tell apart.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from unicodedata import bidirectional

from markupsafe import Markup, escape

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
    """The style of each kind of key, neighbour and measure, the same in every figure."""
    return dict(zip((*KEY_CLASSES, *NEIGHBOURS), _GROUPS, strict=True)) | {
        row.name: SeriesStyle(*_LINES[row.colour], row.marker)
        for row in measure_table()
        if row.pairwise
    }


def level(value: float, low: float, high: float) -> int:
    """The step of the ramp, 0 to ``LEVELS - 1``, for a value between ``low`` and ``high``."""
    if high <= low:
        return 0
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return round(share * (LEVELS - 1))


def ramp(theme: Theme, scale: str) -> list[str]:
    """The colours of a scale, lowest first, as ``#rrggbb``.

    Args:
        theme: of the page.
        scale: a colour, ``change`` for the two-sided ramp, or a measure, which has a colour.
    """
    colours = {row.name: row.colour for row in measure_table()}
    stops = [_channels(stop) for stop in THEMES[theme][colours.get(scale, scale)]]
    return [_between(stops, index / (LEVELS - 1)) for index in range(LEVELS)]


def ramp_variables(theme: Theme) -> str:
    """CSS declarations of all scales: ``--blue-7`` is a colour, ``--on-blue-7`` text on it."""
    return "".join(
        f"--{scale}-{index}:{colour};--on-{scale}-{index}:{text_colour(colour)};"
        for scale in THEMES[theme]
        for index, colour in enumerate(ramp(theme, scale))
    )


def series_variables(theme: Theme) -> str:
    """CSS declarations of the colours of series: ``--s-sep`` is one."""
    return "".join(
        f"--s-{name}:{style.light if theme == 'light' else style.dark};"
        for name, style in series_styles().items()
    )


def series_rules() -> str:
    """CSS rules that give class ``s-sep`` its colour."""
    return "".join(f".s-{name}{{--series:var(--s-{name})}}" for name in series_styles())


def ramp_rules() -> str:
    """CSS rules that give class ``q7`` inside ``.scale-blue`` its colours."""
    return "".join(
        f".scale-{scale} .q{index}{{--cell:var(--{scale}-{index});"
        f"--on-cell:var(--on-{scale}-{index})}}"
        for scale in _LIGHT
        for index in range(LEVELS)
    )


def text_colour(colour: str) -> str:
    """Dark or light text, whichever stands out more on a colour."""
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, colour))


def text_in_figures(colour: str) -> str:
    """Dark or light text that stands out from a colour of a figure on light and on dark pages."""
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


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21 (Web Section Accessibility Guidelines 2.1)."""
    low, high = sorted((_luminance(one), _luminance(other)))
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


MISSING = "–"
MINUS = "−"
"""The sign before a number; as wide as a plus, unlike the hyphen."""


def percent_cell(value: float) -> str:
    """A share as a bare percentage: ``61``, ``6.1``, ``0``."""
    if not math.isfinite(value):
        return MISSING
    return _short(100 * value)


def whole_percent(value: float) -> str:
    """A share as a bare whole percentage: ``61``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:.0f}")


def percent_text(value: float) -> str:
    """A share with its sign: ``61.2%``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:.1f}%")


def points_text(value: float) -> str:
    """A difference of two shares in percentage points: ``+12.3 points``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:+.1f} points")


def points_cell(value: float) -> str:
    """A difference of two shares: ``+12``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{100 * value:+.0f}")


def decimal(value: float) -> str:
    """A number with about three digits: ``0.312``, ``4.61``, ``19.9``, ``1234``."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e5 or size < 1e-3:
        return true_minus(f"{value:.2e}")
    return true_minus(f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}")


def decimal_cell(value: float) -> str:
    """A number short enough for a square: ``0.06``, ``4.61``, ``19.9``, ``1234``."""
    return two_decimals(value) if abs(value) < 10 else decimal(value)


def two_decimals(value: float) -> str:
    """A number with two decimals: ``0.31``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{value:.2f}")


def signed(value: float) -> str:
    """A difference with two decimals: ``+0.31``."""
    return MISSING if not math.isfinite(value) else true_minus(f"{value:+.2f}")


def rank_text(value: float) -> str:
    """A mean of whole numbers: ``32``, ``31.4``."""
    return MISSING if not math.isfinite(value) else f"{value:.1f}".removesuffix(".0")


def plus_minus(half: float, *, share: bool = False) -> str:
    """Half an interval behind its number: `` ±3.1``, of a share in points; nothing of none."""
    if not math.isfinite(half):
        return ""
    return f" ±{100 * half:.1f}" if share else f" ±{half:.1g}"


def true_minus(text: str) -> str:
    """A written number with the sign of its own, and a zero without any."""
    if re.fullmatch(r"[+-]0(\.0+)?(%| points)?", text):
        return text[1:]
    return text.replace("-", MINUS)


def grouped(value: float | int) -> str:
    """A count: ``121,134``."""
    return f"{value:,.0f}"


def _short(value: float) -> str:
    if abs(value) < 0.05:
        return "0"
    return true_minus(f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}")


Format = Callable[[float], str]


Number = int | float


def round_step(span: float, most: int = 6) -> float:
    """The smallest of 1, 2, 5, 10, ... that cuts ``span`` into fewer than ``most`` pieces."""
    if not (math.isfinite(span) and span > 0):
        return 1.0
    rough = span / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def round_domain(low: float, high: float, most: int = 6) -> tuple[float, float]:
    """The domain widened to round values; (0, 1) when there is nothing to show.

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
    """Return the extent below zero where it is next to nothing; otherwise 0."""
    return -low if 0 < -low < 0.06 * high else 0


MOST = 5
"""Names in one panel; a panel in which everything is named shows nothing."""

STANDS_OUT = 0.25
"""A head that is so far from the middle of its layer, of the height of a panel, is named."""

_CHARACTER, _LINE = 6.4, 12.0
"""Room that a character takes, and a line."""


@dataclass(frozen=True, slots=True)
class LabelPosition:
    """A point that may be named, and by how much it stands out."""

    x: float
    y: float
    name: str
    apart: float


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    left: Number
    top: Number
    right: Number
    bottom: Number

    def meets(self, other: "Box") -> bool:
        """Whether they overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: "Box") -> bool:
        """Whether the other lies inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


def placed_names(
    spots: Iterable[LabelPosition], room: Box, most: int = MOST
) -> list[tuple[LabelPosition, Box]]:
    """Place the names of the points that stand out most, each once, where there is room.

    Args:
        spots: of all series; the one that is furthest from the others is named first.
        room: where names may stand.
        most: how many are named.
    """
    ordered = sorted(spots, key=lambda spot: (-spot.apart, spot.name, spot.x, spot.y))
    furthest: dict[str, LabelPosition] = {}
    for spot in ordered:
        furthest.setdefault(spot.name, spot)
    chosen = list(furthest.values())[:most]
    occupied = [Box(spot.x - 3, spot.y - 3, spot.x + 3, spot.y + 3) for spot in chosen]
    placed = []
    for spot in chosen:
        place = _free(spot, room, occupied)
        if place is not None:
            occupied.append(place)
            placed.append((spot, place))
    return placed


def _free(spot: LabelPosition, room: Box, occupied: Sequence[Box]) -> Box | None:
    """The first place beside the point that is free: right, left, above, below."""
    width = _CHARACTER * len(spot.name)
    for start, top in (
        (spot.x + 5, spot.y - _LINE / 2),
        (spot.x - 5 - width, spot.y - _LINE / 2),
        (spot.x - width / 2, spot.y - 7 - _LINE),
        (spot.x - width / 2, spot.y + 7),
    ):
        box = Box(start, top, start + width, top + _LINE)
        if room.holds(box) and not any(box.meets(other) for other in occupied):
            return box
    return None


def element(name: str, *children: object, **attributes: object) -> Markup:
    """One element.

    Args:
        name: Tag name.
        children: Text, which is escaped, or ``Markup``, which is not.
        attributes: Underscores become hyphens (``class_`` is ``class``); None leaves one out;
            numbers are written with at most two decimals.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inner)


def isolated(text: str) -> str:
    """Return the text with marks that keep its direction to itself, if it runs right to left."""
    runs_left = any(bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if runs_left else text


def joined(parts: list[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("\n").join(parts)


def number(value: float) -> str:
    """A coordinate with at most two decimals: ``12.5``, ``3``."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _plain(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
