"""The parts of a page: sections with pictures and tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from headlight.views.exhibits import Table

Figure = Any
"""Of matplotlib, which is loaded when one is drawn."""

Summary = dict[str, float | int | str]
"""The few numbers that say what was found, by name."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A lazy figure.

    Attributes:
        name: By which it is asked for.
        caption: What it shows.
        alternative: The words that stand for it where it cannot be seen.
        draw: Makes the matplotlib figure.
        choice: Of pictures that are shown in turn, the label by which this one is chosen.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Figure]
    choice: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One question that a study answers, with its pictures and tables.

    Attributes:
        name: The anchor on the page.
        title: What it shows, in a few words.
        explanation: How to read it.
        source: The paper that it follows.
        drawings: Drawn in this order.
        tables: Shown in this order.
        group: The kind of attention, where a page has several; only heads of one are the same.
        html: Elements of a page that are neither picture nor table, under the explanation.
    """

    name: str
    title: str
    explanation: str
    source: str = ""
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    group: str = ""
    html: Markup = field(default_factory=Markup)
