"""Drawings of words of two texts with lines between them: soft alignments, and heads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from headlight.views.parts.section import Drawing, Figure, Section
from headlight.views.pictures import HeadMap, LinkDrawing, head_map
from headlight.views.titles import shortened

Link = tuple[int, int]
"""Numbers of a source word and of a target word."""

NAMED = 40
"""Letters of a sentence that name its pair."""
MOST_WORDS = 60
"""Maximum number of words of a sentence that is drawn; those of longer ones could not be read."""


@dataclass(frozen=True)
class DrawnAlignment:
    """Pair of sentences with its alignments.

    Attributes:
        name: Origin of the pair.
        source: Words of the sentence.
        target: Words of the translation.
        soft: Shares of the source words (columns) in the row of a target word, or similarities
            from 0 to 1, by measure.
        links: Links that were found.
        gold: Links that people made, which are framed; without them, `links` are framed.
    """

    name: str
    source: Sequence[str]
    target: Sequence[str]
    soft: Mapping[str, Float[np.ndarray, "target_word source_word"]]
    links: Collection[Link]
    gold: Collection[Link] | None = None

    def section(self, number: int) -> Section:
        """Return the section of the pair on a page, on which it has this number."""
        source, target = " ".join(self.source), " ".join(self.target)
        too_long = max(len(self.source), len(self.target)) > MOST_WORDS
        alternative = f"Soft alignment of {source} and {target}."
        drawing = Drawing("soft", "", alternative, lambda: alignment_picture(self))
        return Section(
            f"pair-{number}",
            f"Pair {number}: {shortened(source, NAMED)}",
            f"{source} → {target}",
            self.name,
            drawings=[drawing] if self.soft and not too_long else [],
            notes=["The sentences are too long to be drawn."] if too_long else [],
        )


def alignment_picture(drawn: DrawnAlignment) -> Figure:
    """Draw soft alignments side by side: target words down, source words across.

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
    least, most = float(np.min(values)), float(np.max(values))
    return (least, most) if measure == "similarity" and least < most else (0.0, 1.0)


def sentence_links(here: xr.Dataset, title: str, note: str) -> LinkDrawing | None:
    """Return the sentence that a result keeps, as lines from words to what a head says of them.

    Correct lines are red. Return None where there is no sentence.

    Args:
        here: Part of the result with one measure and one sentence.
        title: Title over the drawing.
        note: Note under the title.
    """
    if "sentence_word" not in here:
        return None
    words = [str(word) for word in here["sentence_word"].values if word]
    if not words:
        return None
    predicted, right = (here[f"sentence_{name}"].values for name in ("found", "right"))
    in_question = np.flatnonzero(predicted >= 0)
    weights = np.zeros((len(words), len(words)))
    weights[in_question, predicted[in_question].astype(int)] = 1
    links = [(int(word), int(predicted[word])) for word in in_question if right[word]]
    return LinkDrawing(title, words, words, weights, [note], links=links, darkest=1.0)
