"""Placing of labels: names of points where there is room, and labels that cover nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.views.number_formats import Number
from headlight.views.pictures.theme import FONT, INK, PAPER, SMALL, Axes

MOST = 5
"""Names in one panel; a panel in which everything is named shows nothing."""

STANDS_OUT = 0.25
"""A head that is so far from the middle of its layer, of the height of a panel, is named."""

_CHARACTER, _LINE = 7.0, 12.0
"""Room that a character takes, and a line."""


@dataclass(frozen=True, slots=True)
class LabelPosition:
    """Point that may be named, and the degree to which it stands out."""

    x: float
    y: float
    name: str
    apart: float


@dataclass(frozen=True, slots=True)
class Box:
    """Rectangle in which a name may stand."""

    left: Number
    top: Number
    right: Number
    bottom: Number

    def meets(self, other: "Box") -> bool:
        """Return whether the two overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: "Box") -> bool:
        """Return whether the other lies inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


def placed_names(
    spots: Iterable[LabelPosition], room: Box, most: int = MOST
) -> list[tuple[LabelPosition, Box]]:
    """Place the names of the points that stand out most where there is room, without repetition.

    Args:
        spots: Points of all series; the point that is furthest from the others is named first.
        room: Space where names may stand.
        most: Maximum number of names.
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
    """Return the first free place beside the point: right, left, above, below."""
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


_FINE = 1200

_ACROSS, _DOWN = 88, 78
"""Units in which names of points are placed, to an inch of a panel with its labels."""


def name_points(axes: Axes, points: Iterable[tuple[Number, Number, str, Number]]) -> None:
    """Write the names of points where there is room, those that stand out most first.

    Args:
        axes: Axes of the points.
        points: Points as place across and up, name, and degree to which they stand out.
    """
    # Limits are set lazily: without this, places would be those in empty axes.
    axes.autoscale_view()
    # In shares of the panel, since the layout is settled later and moves the panel.
    room, share = _room(axes), axes.transData + axes.transAxes.inverted()
    spots = []
    for x, y, name, apart in points:
        across, up = map(float, share.transform((x, y)))
        spots.append(LabelPosition(room.right * across, room.bottom * (1 - up), name, float(apart)))
    for spot, at in placed_names(spots, room):
        across, up = at.left / room.right, 1 - (at.top + at.bottom) / 2 / room.bottom
        text = axes.text(
            across,
            up,
            spot.name,
            transform=axes.transAxes,
            va="center",
            size=SMALL,
            color=INK,
            zorder=5,  # over the points, which stand close
        )
        text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.3})


def _room(axes: Axes) -> Box:
    """Return the inside of a panel before its layout, in the units in which names are placed."""
    figure: Any = axes.figure
    spec: Any = axes.get_subplotspec()
    grid, (wide, high) = spec.get_gridspec(), map(float, figure.get_size_inches())
    return Box(0, 0, _ACROSS * wide / grid.ncols, _DOWN * high / grid.nrows)


def text_width(words: str, size: float, weight: str = "normal") -> float:
    """Return the width of words in inches, in the font of the pictures."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family=FONT, size=size, weight=weight)
    # Many dots to the inch, as widths are rounded to whole ones.
    renderer = RendererAgg(1, 1, _FINE)
    width, _, _ = renderer.get_text_width_height_descent(words, font, ismath=False)
    return float(width) / _FINE


_DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
_DISTANCES = (0.06, 0.16, 0.3, 0.48, 0.7, 1.0)


def place_labels(
    anchors: NDArray[np.float64],
    sizes: NDArray[np.float64],
    obstacles: NDArray[np.float64],
    bounds: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the centres of labels beside their anchors.

    One after the other, each label takes the place, among eight directions and some distances,
    where it disturbs least: the labels before it, the points that it or the line to its anchor
    would cover, and the bounds; the nearer, the better.

    Args:
        anchors: Anchors, [label, 2], in inches.
        sizes: Widths and heights, [label, 2].
        obstacles: Points that should not be covered, [point, 2].
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
    """Return the positions moved as little as needed to be ``gap`` apart, from ``low`` to ``high``.

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
            (lower, few), (upper, more) = blocks[-2:]
            blocks[-2:] = [((lower * few + upper * more) / (few + more), few + more)]
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
    # In areas of this label, and 1 for every label touched: a thin overlap is bad as well.
    reach = (size + their_sizes) / 2 - np.abs(centre - others)
    shared = np.prod(np.clip(reach, 0.0, None), axis=1)
    return float(shared.sum() / size.prod() + (shared > 0).sum())


def _covered(
    centre: NDArray[np.float64], size: NDArray[np.float64], points: NDArray[np.float64]
) -> int:
    return int((np.abs(points - centre) < size / 2 + 0.03).all(axis=1).sum())


def _crossed(
    anchor: NDArray[np.float64], centre: NDArray[np.float64], points: NDArray[np.float64]
) -> int:
    """Count other points on the line from a point to its label."""
    line = centre - anchor
    along = (points - anchor) @ line / max(float(line @ line), 1e-12)
    # The point of a segment nearest to a point: its projection, kept between both ends.
    beside = points - anchor - np.clip(along, 0.0, 1.0)[:, None] * line
    # The anchor is one of the points, and crosses nothing.
    far = np.abs(points - anchor).max(axis=1) > 1e-9
    return int((far & ((beside**2).sum(axis=1) < 0.04**2)).sum())


def _outside(
    centre: NDArray[np.float64], size: NDArray[np.float64], bounds: tuple[float, float]
) -> float:
    over = np.maximum(size / 2 - centre, centre + size / 2 - np.array(bounds))
    return float(np.clip(over, 0.0, None).sum())
