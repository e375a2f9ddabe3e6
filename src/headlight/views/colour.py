"""Colours: of series, one per measure and category, and of ramps; for light and dark pages.

Each ramp runs in even steps of lightness, so that it is read the same by colour-blind people and
in print; the two-sided ramp (blue to orange) is one that they can tell apart.
"""

LEVELS = 21
"""Steps of a ramp: class ``q0`` is the lowest, ``q20`` the highest."""

_Stops = tuple[str, ...]

_LIGHT: dict[str, _Stops] = {
    "weight": ("#f3f5f8", "#b9cfea", "#6f9fd8", "#2f6ab5", "#0f3a7a"),
    "norm": ("#f8f5f1", "#f3cfa6", "#e39a4f", "#b8640f", "#7a3c00"),
    "effective": ("#f7f3f7", "#e6c3e0", "#c885bd", "#98478f", "#5f1d5c"),
    "other": ("#f2f6f4", "#b7dccb", "#6db69b", "#2c8069", "#0c4d3f"),
    "change": ("#0f3a7a", "#5f93d2", "#f2f2f0", "#dc9347", "#7a3c00"),
}
_DARK: dict[str, _Stops] = {
    "weight": ("#1c232c", "#254468", "#356fae", "#6aa5e4", "#cfe4fb"),
    "norm": ("#26211b", "#5a3a18", "#a5661c", "#e6a04e", "#fbe3c2"),
    "effective": ("#251e26", "#532c52", "#924c8c", "#cf8cc7", "#f6dcf2"),
    "other": ("#1b2522", "#204c40", "#2f8069", "#6cbfa3", "#d3f2e5"),
    "change": ("#a9ceff", "#3f7cc0", "#24272b", "#b8721f", "#ffd39a"),
}
# Green as well: they never share a figure with what belongs to no measure.
for _ramps in (_LIGHT, _DARK):
    _ramps["gradient"] = _ramps["attribution"] = _ramps["other"]
THEMES = {"light": _LIGHT, "dark": _DARK}

SERIES: dict[str, dict[str, str]] = {
    "light": {
        "cls": "#0072b2",
        "sep": "#d1500a",
        "punctuation": "#00896b",
        "other": "#50565e",
        "previous": "#7b3294",
        "current": "#6b7178",
        "next": "#14803c",
        "weight": "#2f6ab5",
        "norm": "#c06a12",
        "effective": "#a04a96",
        "gradient": "#2c8069",
        "attribution": "#801500",
    },
    "dark": {
        "cls": "#56b4e9",
        "sep": "#f0793a",
        "punctuation": "#35c09b",
        "other": "#c3c8ce",
        "previous": "#c99be0",
        "current": "#a3abb4",
        "next": "#63c583",
        "weight": "#6aa5e4",
        "norm": "#e6a04e",
        "effective": "#d590cc",
        "gradient": "#6cbfa3",
        "attribution": "#e0826a",
    },
}
"""The colour of each category, neighbour and measure, the same in every figure."""


def level(value: float, low: float, high: float) -> int:
    """The step of the ramp, 0 to ``LEVELS - 1``, for a value between ``low`` and ``high``."""
    if high <= low:
        return 0
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return round(share * (LEVELS - 1))


def ramp(theme: str, scale: str) -> list[str]:
    """The colours of a scale, lowest first, as ``#rrggbb``."""
    stops = [_channels(stop) for stop in THEMES[theme][scale]]
    return [_between(stops, index / (LEVELS - 1)) for index in range(LEVELS)]


def ramp_variables(theme: str) -> str:
    """CSS declarations of all scales: ``--weight-7`` is a colour, ``--on-weight-7`` text on it."""
    return "".join(
        f"--{scale}-{index}:{colour};--on-{scale}-{index}:{text_colour(colour)};"
        for scale in THEMES[theme]
        for index, colour in enumerate(ramp(theme, scale))
    )


def series_variables(theme: str) -> str:
    """CSS declarations of the colours of series: ``--s-sep`` is one."""
    return "".join(f"--s-{name}:{colour};" for name, colour in SERIES[theme].items())


def series_rules() -> str:
    """CSS rules that give class ``s-sep`` its colour."""
    return "".join(f".s-{name}{{--series:var(--s-{name})}}" for name in SERIES["light"])


def ramp_rules() -> str:
    """CSS rules that give class ``q7`` inside ``.scale-weight`` its colours."""
    return "".join(
        f".scale-{scale} .q{index}{{--cell:var(--{scale}-{index});"
        f"--on-cell:var(--on-{scale}-{index})}}"
        for scale in _LIGHT
        for index in range(LEVELS)
    )


def text_colour(colour: str) -> str:
    """Dark or light text, whichever stands out more on a colour."""
    return max(("#101418", "#ffffff"), key=lambda text: contrast(text, colour))


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21 (Web Content Accessibility Guidelines 2.1)."""
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
    left = min(int(position), len(stops) - 2)
    part = position - left
    pairs = zip(stops[left], stops[left + 1], strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)
