"""Names beside the points of a panel that stand out, where there is room for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headlight.views.scale import Number

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
    taken = [Box(spot.x - 3, spot.y - 3, spot.x + 3, spot.y + 3) for spot in chosen]
    placed = []
    for spot in chosen:
        place = _free(spot, room, taken)
        if place is not None:
            taken.append(place)
            placed.append((spot, place))
    return placed


def _free(spot: LabelPosition, room: Box, taken: Sequence[Box]) -> Box | None:
    """The first place beside the point that is free: right, left, above, below."""
    width = _CHARACTER * len(spot.name)
    for left, top in (
        (spot.x + 5, spot.y - _LINE / 2),
        (spot.x - 5 - width, spot.y - _LINE / 2),
        (spot.x - width / 2, spot.y - 7 - _LINE),
        (spot.x - width / 2, spot.y + 7),
    ):
        box = Box(left, top, left + width, top + _LINE)
        if room.holds(box) and not any(box.meets(other) for other in taken):
            return box
    return None
