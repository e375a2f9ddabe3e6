"""Attention as lines between two columns of tokens."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.number_formats import Number
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.panels import WIDEST, blank, stand_side_by_side
from headlight.views.pictures.theme import (
    INK,
    LARGE,
    PLAIN,
    QUIET,
    SMALL,
    STRONG,
    Axes,
    Figure,
    picture,
)
from headlight.views.titles import shortened

ROW, GAP, MARGIN, BETWEEN = 0.168, 1.05, 0.12, 0.3
"""Inches: from token to token, from column to column of one drawing, and around drawings."""

_LONGEST_TOKEN, _BASE = 16, 0.043
"""Columns of a token that are shown, and inches from the middle of a row to its base line."""

_TITLE = 64
_BEFORE = 3
"""Tokens that a window shows before the first red one."""
_FAINT = 0.25
"""Share of its darkness that a line keeps that begins or ends at a faint token."""
_NAMED = 0.5
"""Links that are given by name are at least so dark, or they would be lost among many."""
_FAINTEST = 0.01
"""A line lighter than this share of black cannot be seen and is not drawn."""


@dataclass(frozen=True, slots=True)
class LinkDrawing:
    """Attention of one head in one text.

    Attributes:
        title: Title, e.g. ``Head 7-9``.
        queries: Attending tokens, on the left.
        keys: Attended tokens, on the right.
        weights: Weights, [query, key], not negative; NaN is not drawn.
        notes: Lines under the title.
        highlighted: Numbers of tokens that are red, with all links from and to them.
        links: Pairs (query, key) that are red, with the tokens at their ends, and dark enough to be
            seen even where their weight is small.
        underlined: Numbers of tokens that are underlined on both sides, e.g. head words.
        faint: Numbers of tokens that are grey, with their lines, so that others are seen: special
            tokens, which get much of the weight of many heads. They do not count for `darkest`.
        darkest: Weight that is drawn black; when None, the largest one, but at least 0.5, so
            that attention spread over many tokens looks light.
    """

    title: str
    queries: Sequence[str]
    keys: Sequence[str]
    weights: NDArray[Any]
    notes: Sequence[str] = ()
    highlighted: Collection[int] = ()
    links: Collection[tuple[int, int]] = ()
    underlined: Collection[int] = ()
    faint: Collection[int] = ()
    darkest: Number | None = None

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.queries), len(self.keys)):
            raise UsageError(
                f"the drawing {self.title!r} has weights of shape {self.weights.shape} for "
                f"{len(self.queries)} queries and {len(self.keys)} keys; they must agree."
            )


@picture
def attention_lines(
    drawings: Sequence[LinkDrawing],
    *,
    columns: int | None = None,
    longest: int = 40,
    title: str = "",
) -> Figure:
    """Draw attention side by side in small panels; the darker a line, the larger the weight.

    After Clark et al. (2019), Figures 1 and 5.

    Args:
        drawings: Drawings of heads or texts.
        columns: Drawings in a row; as many as fit, four at most, when None.
        longest: Maximum number of tokens on each side; the picture says how many are left out.
        title: Title over all drawings.

    Raises:
        UsageError: There is nothing to draw, or weights and tokens do not agree.
    """
    if not drawings:
        raise UsageError("a picture needs at least one drawing; none was given.")
    widths = [_width(drawing, longest) for drawing in drawings]
    width = max(widths)
    across = columns or min(len(drawings), 4, max(1, int(WIDEST // (width + BETWEEN))))
    rows = [drawings[start : start + across] for start in range(0, len(drawings), across)]
    heights = [max(_height(drawing, longest) for drawing in row) for row in rows]
    top = MARGIN + (0.34 if title else 0.0)
    total = 2 * MARGIN + across * width + (across - 1) * BETWEEN
    high = top + sum(heights) + (len(rows) - 1) * BETWEEN + MARGIN
    figure, axes = blank(total, high)
    if title:
        name = shortened(title, _TITLE)
        axes.text(MARGIN, MARGIN + 0.1, name, fontsize=LARGE, fontweight="bold", va="center")
    for row, height in zip(rows, heights, strict=True):
        for place, drawing in enumerate(row):
            _draw(axes, drawing, longest, (MARGIN + place * (width + BETWEEN), top, width))
        top += height + BETWEEN
    starts = [MARGIN + place * (width + BETWEEN) - BETWEEN / 2 for place in range(across)]
    stand_side_by_side(figure, starts)
    return figure


def windowed(drawing: LinkDrawing, longest: int = 40) -> LinkDrawing:
    """Cut a drawing of a long text to the part that begins shortly before the first red token.

    A note says which part it is; links that leave it are left out.

    Args:
        drawing: Drawing of a text that attends to itself.
        longest: Maximum number of tokens shown.
    """
    tokens = len(drawing.queries)
    if tokens <= longest:
        return drawing
    red = set().union(*_red_tokens(drawing))
    start = min(max(min(red, default=0) - _BEFORE, 0), tokens - longest)
    part = slice(start, start + longest)

    def moved(numbers: Collection[int]) -> list[int]:
        return [index - start for index in numbers if start <= index < part.stop]

    links = [(query - start, key - start) for query, key in drawing.links]
    return replace(
        drawing,
        queries=drawing.queries[part],
        keys=drawing.keys[part],
        weights=drawing.weights[part, part],
        notes=[*drawing.notes, f"tokens {start + 1} to {part.stop} of {tokens}"],
        highlighted=moved(drawing.highlighted),
        underlined=moved(drawing.underlined),
        faint=moved(drawing.faint),
        links=[link for link in links if min(link) >= 0 and max(link) < longest],
    )


def _shown(tokens: Sequence[str], longest: int) -> list[str]:
    return [shortened(token, _LONGEST_TOKEN) for token in tokens[:longest]]


def _width(drawing: LinkDrawing, longest: int) -> float:
    """Return the width in inches: both columns of tokens and the lines, or the heading."""
    sides = [
        max((text_width(token, PLAIN) for token in _shown(tokens, longest)), default=0.0)
        for tokens in (drawing.queries, drawing.keys)
    ]
    headings = [text_width(shortened(drawing.title, _TITLE), PLAIN + 0.5, "bold")]
    headings += [text_width(shortened(note, _TITLE), SMALL) for note in drawing.notes]
    return max(sum(sides) + GAP + 0.16, *headings)


def _heading(drawing: LinkDrawing) -> float:
    return 0.3 + 0.15 * len(drawing.notes)


def _height(drawing: LinkDrawing, longest: int) -> float:
    tokens = max(len(drawing.queries), len(drawing.keys))
    left_out = ROW if tokens > longest else 0.0
    return _heading(drawing) + ROW * min(tokens, longest) + left_out


def _draw(
    axes: Axes, drawing: LinkDrawing, longest: int, corner: tuple[float, float, float]
) -> None:
    start, top, width = corner
    middle = start + width / 2
    name = shortened(drawing.title, _TITLE)
    axes.text(middle, top + 0.1, name, ha="center", va="center", weight="bold", size=PLAIN + 0.5)
    for line, note in enumerate(drawing.notes):
        at = top + 0.26 + 0.15 * line
        words = shortened(note, _TITLE)
        axes.text(middle, at, words, ha="center", va="center", color=QUIET, size=SMALL)
    first = top + _heading(drawing) + ROW / 2
    queries, keys = _shown(drawing.queries, longest), _shown(drawing.keys, longest)
    # The lines stand in the middle of what the tokens leave free.
    lean = (_widest(queries) - _widest(keys)) / 2
    sides = (middle + lean - GAP / 2, middle + lean + GAP / 2)
    _lines(axes, drawing, longest, sides, first)
    reds = _red_tokens(drawing)
    _tokens(axes, queries, (sides[0] - 0.05, first), "right", reds[0], drawing)
    _tokens(axes, keys, (sides[1] + 0.05, first), "left", reds[1], drawing)
    _say_left_out(axes, drawing, longest, (sides[0] - 0.05, sides[1] + 0.05), first)


def _widest(tokens: Sequence[str]) -> float:
    return max((text_width(token, PLAIN) for token in tokens), default=0.0)


def _lines(
    axes: Axes, drawing: LinkDrawing, longest: int, sides: tuple[float, float], first: float
) -> None:
    """Draw all visible lines, the dark ones over the light ones and the red ones on top."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    weights = np.nan_to_num(np.asarray(drawing.weights, dtype=np.float64))[:longest, :longest]
    faint = np.zeros(weights.shape, dtype=bool)
    faint[[query for query in drawing.faint if query < weights.shape[0]]] = True
    faint[:, [key for key in drawing.faint if key < weights.shape[1]]] = True
    highest = float(np.where(faint, 0.0, weights).max(initial=0.0))
    darkest = drawing.darkest or max(highest, 0.5)
    darkness = np.clip(weights / darkest, 0.0, 1.0) * np.where(faint, _FAINT, 1.0)
    for query, key in drawing.links:
        if query < weights.shape[0] and key < weights.shape[1]:
            darkness[query, key] = max(darkness[query, key], _NAMED)
    pairs = np.argwhere(darkness >= _FAINTEST)
    red = np.array([_is_red(drawing, int(query), int(key)) for query, key in pairs], dtype=bool)
    # By the last key first: red ones are drawn last, and so on top.
    order = np.lexsort((darkness[tuple(pairs.T)], red))
    pairs, red = pairs[order], red[order]
    segments = [
        [(sides[0], first + ROW * query), (sides[1], first + ROW * key)] for query, key in pairs
    ]
    colours = [
        to_rgba(STRONG if marked else INK, float(darkness[query, key]))
        for (query, key), marked in zip(pairs, red, strict=True)
    ]
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=1.3))


def _is_red(drawing: LinkDrawing, query: int, key: int) -> bool:
    marked = drawing.highlighted
    return query in marked or key in marked or (query, key) in drawing.links


def _red_tokens(drawing: LinkDrawing) -> tuple[set[int], set[int]]:
    """Return the red tokens among the queries and among the keys."""
    marked = set(drawing.highlighted)
    return (
        marked | {query for query, _ in drawing.links},
        marked | {key for _, key in drawing.links},
    )


def _tokens(
    axes: Axes,
    tokens: Sequence[str],
    corner: tuple[float, float],
    side: str,
    red: Collection[int],
    drawing: LinkDrawing,
) -> None:
    """Write a column of tokens, one under the other."""
    x, first = corner
    for index, token in enumerate(tokens):
        y = first + ROW * index
        colour = STRONG if index in red else QUIET if index in drawing.faint else INK
        axes.text(x, y + _BASE, token, ha=side, va="baseline", size=PLAIN, color=colour)
        if index in drawing.underlined:
            long = text_width(token, PLAIN) * (-1 if side == "right" else 1)
            axes.plot([x, x + long], [y + _BASE + 0.025] * 2, color=colour, linewidth=0.9)


def _say_left_out(
    axes: Axes, drawing: LinkDrawing, longest: int, sides: tuple[float, float], first: float
) -> None:
    for x, side, tokens in zip(
        sides, ("right", "left"), (drawing.queries, drawing.keys), strict=True
    ):
        more = len(tokens) - longest
        if more > 0:
            y = first + ROW * longest
            axes.text(
                x,
                y,
                f"… {more} more",
                ha=side,
                va="center",
                size=SMALL,
                color=QUIET,
                style="italic",
            )
