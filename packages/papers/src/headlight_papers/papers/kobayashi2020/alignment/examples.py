"""Soft alignments of a few translations (Figures 8 and 13 to 17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal

import pandas

from headlight.corpora import (
    SAMPLE_LINKS,
    SAMPLE_TRANSLATIONS,
    TranslationPair,
    open_parallel,
)
from headlight.links import Gold, open_links
from headlight.views.parts import Drawing, DrawnAlignment, Section, alignment_picture
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.alignment.results import (
    aligned_of,
    translator_note,
    translator_of,
)
from headlight_papers.papers.kobayashi2020.settings import Settings
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter

DRAWN = 2
"""Translations that are drawn."""
MOST_WORDS = 16
"""Of a sentence of a corpus that is drawn."""
SECOND = 1
"""The layer of Figure 8, from 0: the paper's best one by norms."""
MEASURES: tuple[Literal["weight", "norm"], ...] = ("weight", "norm")


@dataclass(frozen=True)
class Example:
    """One translation, and the gold links of its words."""

    pair: TranslationPair
    gold: Gold


@exhibit(
    "figure-8",
    "Soft alignments in layer 2",
    "Kobayashi et al. (2020), Figure 8 and Section 5",
    ("translator",),
)
def figure_8(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The layer that is the paper's best one by norms."""
    layers = _layers(reproduction)
    chosen = [layer for layer in layers if layer == SECOND] or layers[:1]
    return _content(reproduction, writer, chosen)


@exhibit(
    "figure-13",
    "Soft alignments in the other layers",
    "Kobayashi et al. (2020), Figures 13 to 17 and Appendix E",
    ("translator",),
)
def figure_13(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Figures 13 to 17, one layer each, as one exhibit."""
    layers = [layer for layer in _layers(reproduction) if layer != SECOND]
    return _content(reproduction, writer, layers)


def _layers(reproduction: Reproduction) -> list[int]:
    return [site.layer for site in translator_of(reproduction).sites_of("cross")]


def _content(
    reproduction: Reproduction[Settings], writer: ExhibitWriter, layers: Sequence[int]
) -> Section:
    examples = list(islice(_examples(reproduction), DRAWN))
    pictures = [
        picture for layer in layers for picture in _pictures(reproduction, writer, layer, examples)
    ]
    source = (
        "The translations are of the sample that comes with the package, from German to English."
        if reproduction.settings.drawn == "sample"
        else f"The translations are the first of at most {MOST_WORDS} words on either side."
    )
    return Section(
        explanation="Every row is a target word, and shows its shares of the source words, by the "
        "mean weight of the heads and by the norm of what they move together; what special tokens "
        "have is not shown. The gold links are framed. The row is that of the step which reads the "
        "word (AWI).",
        drawings=pictures,
        notes=[source, translator_note(reproduction)],
    )


def _examples(reproduction: Reproduction[Settings]) -> list[Example]:
    if reproduction.settings.drawn == "sample" or reproduction.sources.aligned is None:
        pairs = list(open_parallel(SAMPLE_TRANSLATIONS))
        gold = list(open_links(SAMPLE_LINKS, sentences=len(pairs)))
    else:
        aligned = aligned_of(reproduction)
        pairs, gold = aligned.pairs, aligned.gold
    return [
        Example(pair, links)
        for pair, links in zip(pairs, gold, strict=True)
        if 0 < max(len(pair.source.split()), len(pair.target.split())) <= MOST_WORDS
    ]


def _pictures(
    reproduction: Reproduction, writer: ExhibitWriter, layer: int, examples: Sequence[Example]
) -> list[Drawing]:
    found = {}
    for measure in MEASURES:
        pairs = [example.pair for example in examples]
        aligned = translator_of(reproduction).align(pairs, measure=measure, layer=layer)
        found[measure] = list(aligned)
    pictures = []
    for number, example in enumerate(examples):
        soft = {measure: each[number].soft for measure, each in found.items()}
        drawn = DrawnAlignment(
            example.pair.name,
            example.pair.source.split(),
            example.pair.target.split(),
            {measure: matrix for measure, matrix in soft.items() if matrix is not None},
            found["norm"][number].links,
            example.gold.possible,
        )
        name = f"layer-{layer + 1}-{number + 1}"
        writer.keep(_frame(drawn), name)
        caption = f"Layer {layer + 1}: {example.pair.source} → {example.pair.target}"
        pictures.append(
            writer.picture(
                partial(alignment_picture, drawn),
                caption,
                f"Soft alignments by weight and by norm. {caption}",
                name,
            )
        )
    return pictures


def _frame(drawn: DrawnAlignment) -> pandas.DataFrame:
    """A row for each pair of words, with its shares and whether people linked it."""
    rows = []
    for target, target_word in enumerate(drawn.target):
        for source, source_word in enumerate(drawn.source):
            shares = {name: float(soft[target, source]) for name, soft in drawn.soft.items()}
            linked = drawn.gold is not None and (source, target) in drawn.gold
            words = {"target": target_word, "source": source_word}
            rows.append({**words, **shares, "gold": "yes" if linked else "no"})
    return pandas.DataFrame(rows)
