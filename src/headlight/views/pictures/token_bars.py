"""Bars over the tokens of a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headlight.views.pictures.bar_charts import GREY
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.panels import WIDEST, entitle, panels_on
from headlight.views.pictures.theme import PLAIN, Figure, colour_of, picture
from headlight.views.titles import shortened

_NARROWEST, _HIGH, _TOKEN, _LEAST = 6.0, 1.35, 0.36, 0.17
"""Inches: of the picture, of a series of bars, of a token, and that a token needs for its name."""

_STANDS_OUT = 0.1
"""Share from which the bar of a token stands out, unless the largest is far above it."""


@dataclass(frozen=True, slots=True)
class TokenBars:
    """Bars over the tokens of a text.

    Attributes:
        title: Title over the bars.
        colour: Name in the palette, for bars that stand out; the others are grey.
        shares: Shares of the tokens, as parts of 1.
    """

    title: str
    colour: str
    shares: NDArray[np.float64]


@picture
def token_bars(series: Sequence[TokenBars], tokens: Sequence[str], *, title: str = "") -> Figure:
    """Draw bars over the tokens of a text, one series below the other, on one scale.

    Args:
        series: Series from above.
        tokens: Tokens under the lowest series; where room is short, those of bars that stand out.
        title: Title over the picture.

    Raises:
        UsageError: There is nothing to draw.
    """
    width = min(WIDEST, max(_NARROWEST, _TOKEN * len(tokens)))
    figure, panels = panels_on(len(series), (width, _HIGH), 1)
    entitle(figure, title)
    places = np.arange(len(tokens))
    top = max(float(bars.shares.max(initial=0)) for bars in series)
    least = max(_STANDS_OUT, top / 5)
    for place, (axes, bars) in enumerate(zip(panels, series, strict=True)):
        high = bars.shares >= least
        axes.bar(places, bars.shares, color=np.where(high, colour_of(bars.colour, place), GREY))
        for at in _written(bars.shares, high, (width / len(tokens), 0.6 * _HIGH / top)):
            share = float(bars.shares[at])
            axes.text(float(at), share + top / 40, f"{share:.0%}", ha="center", weight="bold")
        axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(0, 1.25 * top), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.set_title(bars.title)
        axes.set_xticks(places, [])
    named = places
    if len(tokens) * _LEAST > WIDEST:
        named = np.flatnonzero(np.any([bars.shares >= least for bars in series], axis=0))
    names = [shortened(tokens[int(at)], 20) for at in named]
    panels[-1].set_xticks(named, names, rotation=55, ha="right", rotation_mode="anchor")
    return figure


def _written(
    shares: NDArray[np.float64], high: NDArray[np.bool_], inches: tuple[float, float]
) -> list[int]:
    """Return the bars whose numbers have room, the largest first.

    Args:
        shares: Shares of the tokens.
        high: Whether bars stand out.
        inches: Inches from token to token, and of a share of 1.
    """
    chosen: list[int] = []
    places = np.flatnonzero(high).tolist()
    wide = {at: text_width(f"{shares[at]:.0%}", PLAIN, "bold") for at in places}
    for at in sorted(places, key=lambda place: -shares[place]):
        beside = [
            other for other in chosen if abs(at - other) * inches[0] < (wide[at] + wide[other]) / 2
        ]
        if all(abs(shares[at] - shares[other]) * inches[1] > PLAIN / 72 for other in beside):
            chosen.append(at)
    return chosen
