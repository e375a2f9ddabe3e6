"""A page of soft alignments, with the gold links framed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.views.exhibits import Exhibit, ExhibitsPage, Picture, exhibits_page
from headlight.views.pictures import HeadMap, head_map, svg_text
from headlight.views.pictures.theme import Figure
from headlight.views.words import shortened

Link = tuple[int, int]
"""The number of a source word and that of a target word."""

NAMED = 40
"""Letters of a sentence that name its pair."""
MOST_WORDS = 60
"""Of a sentence that is drawn; the words of longer ones could not be read."""


@dataclass(frozen=True)
class DrawnAlignment:
    """One pair of sentences.

    Attributes:
        name: Where it is from.
        source: Its words.
        target: The words of the translation.
        soft: By measure, the share of each source word (column) in the row of a target word; or
            how similar the two are, from 0 to 1.
        links: Those that were found.
        gold: Those that people made, which are framed; without them, those that were found are.
    """

    name: str
    source: Sequence[str]
    target: Sequence[str]
    soft: Mapping[str, Float[np.ndarray, "target_word source_word"]]
    links: Collection[Link]
    gold: Collection[Link] | None = None


def alignment_picture(drawn: DrawnAlignment) -> Figure:
    """Soft alignments side by side: target words down, source words across.

    After Kobayashi et al. (2020), Figures 8 and 13 to 17.
    """
    framed = drawn.links if drawn.gold is None else drawn.gold
    maps = [
        HeadMap(
            measure,
            np.abs(values),
            list(drawn.target),
            list(drawn.source),
            row_label="target",
            column_label="source",
            scale=measure if measure in ("weight", "norm", "effective", "gradient") else "weight",
            limits=_limits(measure, values),
            framed=[(target, source) for source, target in sorted(framed)],
        )
        for measure, values in drawn.soft.items()
    ]
    return head_map(maps, annotate=False)


def _limits(
    measure: str, values: Float[np.ndarray, "target_word source_word"]
) -> tuple[float, float]:
    """Of shares all that there can be; similarities, even of unlike words, are all large."""
    least, most = float(np.min(values)), float(np.max(values))
    return (least, most) if measure == "similarity" and least < most else (0.0, 1.0)


def alignment_page(
    drawn: Sequence[DrawnAlignment],
    *,
    model: str,
    command: str = "",
    note: str = "",
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """Soft alignments of some pairs as one self-contained HTML page.

    Args:
        drawn: The pairs.
        model: What aligned them.
        command: The command that made the page.
        note: What is not shown, if anything.
        facts: How well the links agree with the gold links, as labels and values.
    """
    framed = "The gold links" if any(d.gold is not None for d in drawn) else "The links"
    return exhibits_page(
        ExhibitsPage(
            title="Word alignment",
            introduction=f"{model}. {_shown(drawn)} {framed} are framed. {note}".strip(),
            exhibits=[_exhibit(number, each) for number, each in enumerate(drawn, 1)],
            facts=facts,
            command=command,
            kind="alignment",
        )
    )


def _shown(drawn: Sequence[DrawnAlignment]) -> str:
    if any("similarity" in each.soft for each in drawn):
        return "Every row is a target word, and shows how similar the source words are to it."
    return (
        "Every row is a target word, and shows its shares of the source words; what special tokens "
        "have is not shown."
    )


def _exhibit(number: int, drawn: DrawnAlignment) -> Exhibit:
    source, target = " ".join(drawn.source), " ".join(drawn.target)
    too_long = max(len(drawn.source), len(drawn.target)) > MOST_WORDS
    pictures = []
    if drawn.soft and not too_long:
        alternative = f"Soft alignment of {source} and {target}."
        pictures = [Picture("soft", "", alternative, svg_text(alignment_picture(drawn)))]
    return Exhibit(
        f"pair-{number}",
        f"Pair {number}: {shortened(source, NAMED)}",
        drawn.name,
        f"{source} → {target}",
        pictures,
        notes=["The sentences are too long to be drawn."] if too_long else [],
    )
