"""Headline of a page: the answer as its title, and the pictures that show just that."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from headlight.files import printable
from headlight.views.html_elements import element
from headlight.views.parts.section import Drawing
from headlight.views.titles import isolated_quotes

BAR = 24
"""Columns of the longest bar on a terminal."""


@dataclass(frozen=True, slots=True)
class ValueBar:
    """Bar with its number beside it.

    Attributes:
        label: Label of the bar.
        value: Number, as it is written.
        share: Length, as a share of the longest bar of its list, 0 to 1.
        series: Measure whose colour it has.
        is_reference: Whether it is only what the others are held against, and pale.
    """

    label: str
    value: str
    share: float
    series: str = "weight"
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class BarList:
    """List of bars, with a title and a note."""

    title: str
    bars: Sequence[ValueBar]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Elements of a page that are no bars, such as coloured passages."""

    title: str
    html: Markup


@dataclass(frozen=True, slots=True)
class Headline:
    """Answer of a page: its title, and the pictures that show just that.

    Attributes:
        title: Answer in a sentence, with its numbers.
        read: What was read, and by which model, in one line.
        pictures: Pictures side by side, the one that shows the title first.
        kind: Question that the page answers, in the small line above the title.
        opened: Names of sections that are not folded.
    """

    title: str
    read: str
    pictures: Sequence[BarList | Block | Drawing] = ()
    kind: str = ""
    opened: Sequence[str] = field(default_factory=tuple)

    @property
    def drawn(self) -> list[str]:
        """Names of the drawings that it shows, which their sections leave out."""
        return [picture.name for picture in self.pictures if isinstance(picture, Drawing)]

    @property
    def sentences(self) -> list[str]:
        """Sentences that a terminal prints of it."""
        notes = [picture.note for picture in self.pictures if isinstance(picture, BarList)]
        return [self.title, self.read, *notes]


def value_bars(
    values: Mapping[str, float] | Iterable[tuple[str, float]],
    written: Callable[[float], str],
    references: Collection[str] = (),
    series: str | Mapping[str, str] = "weight",
    longest: float | None = None,
) -> list[ValueBar]:
    """Return numbers as bars in their order, the largest of full length; none if negative.

    Args:
        values: Numbers by the labels of the bars; where a label is there twice, pairs of both.
        written: Function that makes text of a number.
        references: Labels of the bars that others are held against.
        series: Measure whose colour they have; of several, by the labels of the bars.
        longest: Number of a bar of full length; by default the largest.
    """
    rows = [*values.items()] if isinstance(values, Mapping) else [*values]
    sizes = [value for _, value in rows if math.isfinite(value)]
    longest = longest or max([0.0, *sizes]) or 1.0
    return [
        ValueBar(
            label,
            written(value),
            max(value, 0.0) / longest if math.isfinite(value) else 0.0,
            series if isinstance(series, str) else series[label],
            label in references,
        )
        for label, value in rows
    ]


def signed_bars(
    values: Sequence[tuple[str, float]],
    written: Callable[[float], str],
    references: Collection[str] = (),
) -> list[ValueBar]:
    """Return parts of a sum as bars, as long as they are large; negative ones are orange.

    Args:
        values: Labels and numbers of the bars.
        written: Function that makes text of a number, with its sign.
        references: Labels of the bars that others are held against.
    """
    longest = max((abs(value) for _, value in values), default=0.0) or 1.0
    return [
        ValueBar(
            label,
            written(value),
            abs(value) / longest,
            "norm" if value < 0 else "weight",
            label in references,
        )
        for label, value in values
    ]


def bars_html(bars: Sequence[ValueBar]) -> Markup:
    """Return bars as rows of a label, a bar and its number."""
    rows = [
        element(
            "div",
            element("span", isolated_quotes(bar.label), class_="label", dir=_direction(bar)),
            element(
                "span",
                element("i", style=f"width:{100 * min(max(bar.share, 0.0), 1.0):.1f}%"),
                class_=f"bar s-{bar.series}{' reference' if bar.is_reference else ''}",
                aria_hidden="true",
            ),
            element("span", bar.value, class_="value"),
            class_="value-bar",
        )
        for bar in bars
    ]
    return Markup("").join(rows)


def _direction(bar: ValueBar) -> str:
    # A phrase of ours runs left to right, whatever the words that it quotes.
    return "ltr" if "“" in bar.label else "auto"


def headline_terminal(headline: Headline) -> RenderableType:
    """Return the title, what was read, and the rows of the pictures."""
    lines: list[RenderableType] = [
        Text(printable(headline.title), style="bold"),
        Text(printable(headline.read), style="dim"),
    ]
    for picture in headline.pictures:
        if isinstance(picture, BarList) and picture.bars:
            lines += [Text(), Text(printable(picture.title), style="bold"), _rows(picture.bars)]
            if picture.note:
                lines.append(Text(printable(picture.note), style="dim"))
    return Group(*lines)


def _rows(bars: Sequence[ValueBar]) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    for bar in bars:
        drawn = ("░" if bar.is_reference else "█") * round(BAR * min(max(bar.share, 0.0), 1.0))
        grid.add_row(Text(printable(bar.label)), Text(printable(bar.value)), Text(drawn))
    return grid
