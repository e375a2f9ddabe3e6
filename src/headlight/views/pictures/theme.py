"""Theme of pictures: fonts, colours, markers and lines; and matplotlib, loaded when one is drawn.

The sizes are in inches and points. Nothing of matplotlib's global state is left changed, and the
settings of the user do not matter: a picture is the same on every machine.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.colours import LEVELS, contrast, ramp, series_styles
from headlight.vocabulary import Marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # nothing of matplotlib is loaded before something is drawn
    Axes = Figure = Any


PAPER, INK, QUIET, LINE, FAINT = "#ffffff", "#1b1f24", "#59626d", "#c3c9d0", "#eceef0"
STRONG = "#c1121f"
"""The red of what is pointed at."""

SMALL, PLAIN, LARGE = 8.25, 8.75, 10.0
"""Sizes of text in points; the smallest is 11 pixels on a page, where a wide picture is not larger
than in its file."""

FONT = "DejaVu Sans"
"""It comes with matplotlib, and so is there wherever a picture is drawn."""

CYCLE = ("#0072b2", "#d1500a", "#00896b", "#801500", "#3b2a7a", "#6d6df2", "#20262d")
"""Colours of series that have none of their own, told apart by colour-blind people."""

_MARKERS: dict[Marker, str] = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle": "^",
    "inverted triangle": "v",
    "plus": "P",
}
_MARKER_CYCLE = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: dict[str, Any] = {
    "font.family": [FONT],
    "font.size": PLAIN,
    "text.color": INK,
    "text.parse_math": False,
    # As wide as a browser sets them: layout and crop fit what is seen, not the dots of a screen.
    "text.hinting": "no_hinting",
    "axes.formatter.useoffset": False,  # 0.1003, and not 3e-4 under "+1e-1"
    "axes.titlesize": PLAIN + 0.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": PLAIN,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "xtick.major.width": 0.8,
    "legend.fontsize": PLAIN,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.4,
    "legend.handletextpad": 0.5,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "headlight",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")


@contextmanager
def style() -> Iterator[None]:
    """Apply matplotlib's defaults and our style within the context.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    try:
        from matplotlib.style import context
    except ImportError as missing:
        raise UsageError(
            "pictures need matplotlib, which is not installed; "
            "install it with pip install matplotlib."
        ) from missing
    with context(["default", _STYLE]), warnings.catch_warnings():
        # A token may be in any script; a glyph that the font does not have is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def styled(work: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
    """Wrap a function that works with figures, so that it does so in our style."""

    @wraps(work)
    def working(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        with style():
            return work(*args, **kwargs)

    return working


def picture(draw: Callable[_Parameters, Figure]) -> Callable[_Parameters, Figure]:
    """Wrap a function that makes a figure, so that it uses our style and settles the layout."""

    @wraps(draw)
    def drawn(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Figure:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure = draw(*args, **kwargs)
        # This canvas keeps its renderer, and that the widths of words, for the crop of the files.
        FigureCanvasAgg(figure)
        if layout := figure.get_layout_engine():
            # Once and for all: each further time would move it by a hair.
            layout.execute(figure)
            figure.set_layout_engine(None)
        return figure

    return styled(drawn)


def colour_of(name: str, index: int) -> str:
    """Return the colour of a series: from the palette, as given, or by its place if it has none."""
    style = series_styles().get(name)
    return style.light if style else name or CYCLE[index % len(CYCLE)]


def components_of(series: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return, by label, the place by which `colour_of` draws a series without its own colour.

    These series avoid the colours of series of the palette beside them, such as that of [CLS].

    Args:
        series: Labels and names in the palette (or empty) of the series.
    """
    styles = series_styles()
    used_colours = {styles[name].light for _, name in series if name in styles}
    free = [index for index, colour in enumerate(CYCLE) if colour not in used_colours] or [0]
    labels = dict.fromkeys(label for label, name in series if name not in styles)
    return {label: free[at % len(free)] for at, label in enumerate(labels)}


def readable(colour: str) -> str:
    """Darken a colour for words on paper until it can be read."""
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    # Text needs a contrast of 4.5 (Web Content Accessibility Guidelines, level AA).
    while contrast(colour, PAPER) < 4.6:
        channels = [round(0.94 * channel) for channel in channels]
        colour = "#" + "".join(f"{channel:02x}" for channel in channels)
    return colour


def marker_of(name: str, index: int) -> str:
    """Return the marker of a series, so that colour is not the only difference."""
    style = series_styles().get(name)
    return _MARKERS[style.marker] if style else _MARKER_CYCLE[index % len(_MARKER_CYCLE)]


def colour_map(scale: str) -> Any:
    """Return a ramp of the report as a colour map of matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"headlight-{scale}", ramp("light", scale), LEVELS * 4)


def ordered_colours(count: int) -> list[str]:
    """Return colours that run from dark to light for groups with an order, such as layers."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # The last part of the map is too light to be seen on white.
    shares: NDArray[np.float64] = np.linspace(0.0, 0.9, max(count, 1))
    return [str(to_hex(colormaps["viridis"](float(share)))) for share in shares]
