"""What stands on a picture: texts, points and colours, read back from its artists."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

HOSTILE = [
    "<script>alert(1)</script>",
    "$x$",
    "$\\frac{",
    "&amp;]]>",
    "مرحبا",
    "😀",
    "x" * 200,
    "語" * 200,
    "\x1b[31m\x00\u202e",
    "_hidden",
    "",
]


def texts(figure: Figure) -> list[str]:
    """All texts that are not empty."""
    found = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    return [text for text in found if text]


def line_named(axes: object, label: str) -> Line2D:
    """The line with a label."""
    return next(line for line in axes.get_lines() if line.get_label() == label)


def points(line: Line2D) -> np.ndarray:
    """The points of a line, [point, 2]."""
    return np.asarray(line.get_xydata(), dtype=float)


def dots(axes: object) -> list[Line2D]:
    """The clouds of dots of a panel: markers without a line."""
    return [line for line in axes.get_lines() if line.get_linestyle() == "None"]
