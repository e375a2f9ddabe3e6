"""Theme of pictures, and labels that cover nothing.

Style of pictures: fonts, colours and lines; and matplotlib, loaded when one is drawn.
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
from headlight.views.colour import LEVELS, contrast, ramp, series_styles
from headlight.vocabulary import Marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # nothing of matplotlib is loaded before something is drawn
    Axes = Figure = Any

PAPER, INK, QUIET, LINE, FAINT = "#ffffff", "#1b1f24", "#59626d", "#c3c9d0", "#eceef0"
STRONG = "#c1121f"
"""The red of what is pointed at."""

SMALL, PLAIN, LARGE = 7.5, 8.5, 10.0
"""Sizes of text in points."""

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
    "legend.fontsize": SMALL + 0.5,
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
    """Matplotlib's defaults and ours for as long as it lasts.

    Raises:
        UsageError: matplotlib is not installed.
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
    """A function that works with figures, made to do it in our style."""

    @wraps(work)
    def working(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        with style():
            return work(*args, **kwargs)

    return working


def picture(draw: Callable[_Parameters, Figure]) -> Callable[_Parameters, Figure]:
    """A function that makes a figure, made to do it in our style, and to settle its layout."""

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
    """The colour of a series: of the palette, as ``#rrggbb``, or by its place when it has none."""
    style = series_styles().get(name)
    return style.light if style else name or CYCLE[index % len(CYCLE)]


def components_of(series: Sequence[tuple[str, str]]) -> dict[str, int]:
    """By label the place by which `colour_of` draws a series that has no colour of its own.

    None has the colour of a series of the palette beside it, such as that of [CLS].

    Args:
        series: label and name of the palette, or empty, of each.
    """
    styles = series_styles()
    used_colours = {styles[name].light for _, name in series if name in styles}
    free = [index for index, colour in enumerate(CYCLE) if colour not in used_colours] or [0]
    labels = dict.fromkeys(label for label, name in series if name not in styles)
    return {label: free[at % len(free)] for at, label in enumerate(labels)}


def readable(colour: str) -> str:
    """A colour for words on paper: the same one, or darker until it can be read."""
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    while contrast(colour, PAPER) < 4.6:
        channels = [round(0.94 * channel) for channel in channels]
        colour = "#" + "".join(f"{channel:02x}" for channel in channels)
    return colour


def marker_of(name: str, index: int) -> str:
    """The marker of a series, so that colour is not the only difference."""
    style = series_styles().get(name)
    return _MARKERS[style.marker] if style else _MARKER_CYCLE[index % len(_MARKER_CYCLE)]


def colour_map(scale: str) -> Any:
    """A ramp of the report as a colour map of matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"headlight-{scale}", ramp("light", scale), LEVELS * 4)


def ordered_colours(count: int) -> list[str]:
    """Colours that run from dark to light for groups with an order, such as layers."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # The last part of the map is too light to be seen on white.
    shares: NDArray[np.float64] = np.linspace(0.0, 0.9, max(count, 1))
    return [str(to_hex(colormaps["viridis"](float(share)))) for share in shares]


_DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
_DISTANCES = (0.06, 0.16, 0.3, 0.48, 0.7, 1.0)


def place_labels(
    anchors: NDArray[np.float64],
    sizes: NDArray[np.float64],
    obstacles: NDArray[np.float64],
    bounds: tuple[float, float],
) -> NDArray[np.float64]:
    """The centres of labels beside their anchors.

    One after the other, each label takes the place, among eight directions and some distances,
    where it disturbs least: the labels before it, the points that it or the line to its anchor
    would cover, and the bounds; the nearer, the better.

    Args:
        anchors: [label, 2], in inches.
        sizes: [label, 2], width and height.
        obstacles: [point, 2], what should not be covered.
        bounds: Width and height of the panel.
    """
    centres = np.zeros_like(anchors)
    for index, (anchor, size) in enumerate(zip(anchors, sizes, strict=True)):
        candidates = _candidates(anchor, size)
        costs = [
            12 * _overlaps(centre, size, centres[:index], sizes[:index])
            + _covered(centre, size, obstacles)
            + 0.7 * _crossed(anchor, centre, obstacles)
            + 30 * _outside(centre, size, bounds)
            + 4 * distance
            for centre, distance in candidates
        ]
        centres[index] = candidates[int(np.argmin(costs))][0]
    return centres


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The positions moved as little as needed to be ``gap`` apart, from ``low`` to ``high``.

    Where there is no room for all, the gap becomes smaller.
    """
    count = len(positions)
    if count == 0:
        return []
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = sorted(range(count), key=lambda index: positions[index])
    # Without the gaps the condition is that the positions do not fall: pool the ones that do.
    blocks: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        blocks.append((positions[index] - rank * gap, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, few), (other, more) = blocks[-2:]
            blocks[-2:] = [((one * few + other * more) / (few + more), few + more)]
    flat = [value for value, times in blocks for _ in range(times)]
    top = high - (count - 1) * gap
    moved = [0.0] * count
    for rank, index in enumerate(order):
        moved[index] = min(max(flat[rank], low), top) + rank * gap
    return moved


def _candidates(
    anchor: NDArray[np.float64], size: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], float]]:
    return [
        (anchor + np.array(direction) * (size / 2 + distance), distance)
        for distance in _DISTANCES
        for direction in _DIRECTIONS
    ]


def _overlaps(
    centre: NDArray[np.float64],
    size: NDArray[np.float64],
    others: NDArray[np.float64],
    their_sizes: NDArray[np.float64],
) -> float:
    """The area shared with other labels, in label areas."""
    reach = (size + their_sizes) / 2 - np.abs(centre - others)
    shared = np.prod(np.clip(reach, 0.0, None), axis=1)
    return float(shared.sum() / size.prod() + (shared > 0).sum())


def _covered(
    centre: NDArray[np.float64], size: NDArray[np.float64], points: NDArray[np.float64]
) -> int:
    """Count the points under a label."""
    return int((np.abs(points - centre) < size / 2 + 0.03).all(axis=1).sum())


def _crossed(
    anchor: NDArray[np.float64], centre: NDArray[np.float64], points: NDArray[np.float64]
) -> int:
    """Count other points on the line from a point to its label."""
    line = centre - anchor
    along = (points - anchor) @ line / max(float(line @ line), 1e-12)
    beside = points - anchor - np.clip(along, 0.0, 1.0)[:, None] * line
    far = np.abs(points - anchor).max(axis=1) > 1e-9
    return int((far & ((beside**2).sum(axis=1) < 0.04**2)).sum())


def _outside(
    centre: NDArray[np.float64], size: NDArray[np.float64], bounds: tuple[float, float]
) -> float:
    over = np.maximum(size / 2 - centre, centre + size / 2 - np.array(bounds))
    return float(np.clip(over, 0.0, None).sum())
