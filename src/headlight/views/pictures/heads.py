"""Which head each shape of a picture stands for, so that a page can point at it in all pictures."""

from collections.abc import Iterable

from headlight.views.pictures.theme import Axes

PREFIX = "heads"


def heads_id(axes: Axes, names: Iterable[str], place: int = 0) -> str:
    """The id of the shapes of an SVG that stand for heads, which names these in their order.

    Args:
        axes: That they are in.
        names: Of the heads; empty where a shape stands for none.
        place: Of several such ids in the same axes, which one it is.
    """
    return ".".join([f"{PREFIX}-{axes.figure.axes.index(axes)}-{place}", *names])
