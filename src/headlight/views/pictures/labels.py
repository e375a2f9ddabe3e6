"""Placement of labels so that they cover neither each other nor the points; plain geometry."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
