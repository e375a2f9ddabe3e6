"""Figures 8 and 13 to 17: soft alignments of translations."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal

import pandas

from headlight.views.parts import Drawing, Section
from headlight.views.parts.alignment_drawings import DrawnAlignment, alignment_picture
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import Settings
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.translator_results import (
    aligned_of,
    translator_note,
    translator_of,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.corpora import (
    SAMPLE_LINKS,
    SAMPLE_TRANSLATIONS,
    TranslationPair,
    open_parallel,
)
from headlight_words.links import Gold, open_links

DRAWN = 2
"""Translations that are drawn."""
MOST_WORDS = 16
"""Largest number of words in a sentence of a corpus that is drawn."""
SECOND = 1
"""Layer of Figure 8, from 0: the paper's best one by norms."""
MEASURES: tuple[Literal["weight", "norm"], ...] = ("weight", "norm")

Example = tuple[TranslationPair, Gold]
"""Translation with the gold links of its words."""


@exhibit("figure-8", "Figure 8 and Section 5", "translator")
def figure_8(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Soft alignments in layer 2."""
    return _soft_alignments(reproduction, writer, second=True)


@exhibit("figure-13", "Figures 13 to 17 and Appendix E", "translator")
def figure_13(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Soft alignments in the other layers."""
    return _soft_alignments(reproduction, writer, second=False)


def _soft_alignments(
    reproduction: Reproduction[Settings], writer: ExhibitWriter, *, second: bool
) -> Section:
    all_layers = [site.layer for site in translator_of(reproduction).sites_of("cross")]
    layers = [layer for layer in all_layers if (layer == SECOND) == second]
    if second and not layers:
        layers = all_layers[:1]
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
        (pair, links)
        for pair, links in zip(pairs, gold, strict=True)
        if 0 < max(len(pair.source.split()), len(pair.target.split())) <= MOST_WORDS
    ]


def _pictures(
    reproduction: Reproduction, writer: ExhibitWriter, layer: int, examples: Sequence[Example]
) -> list[Drawing]:
    links = {}
    translator: Any = translator_of(reproduction)  # whose method `align` headlight-words brings
    for measure in MEASURES:
        pairs = [pair for pair, _ in examples]
        aligned = translator.align(pairs, measure=measure, layer=layer)
        links[measure] = list(aligned)
    pictures = []
    for number, (pair, gold) in enumerate(examples):
        soft = {measure: alignments[number].soft for measure, alignments in links.items()}
        drawn = DrawnAlignment(
            pair.name,
            pair.source.split(),
            pair.target.split(),
            {measure: matrix for measure, matrix in soft.items() if matrix is not None},
            links["norm"][number].links,
            gold.possible,
        )
        name = f"layer-{layer + 1}-{number + 1}"
        writer.keep(_frame(drawn), name)
        caption = f"Layer {layer + 1}: {pair.source} → {pair.target}"
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
    """Return a row for each pair of words, with its shares and whether people linked it."""
    rows = []
    for target, target_word in enumerate(drawn.target):
        for source, source_word in enumerate(drawn.source):
            shares = {name: float(soft[target, source]) for name, soft in drawn.soft.items()}
            linked = drawn.gold is not None and (source, target) in drawn.gold
            words = {"target": target_word, "source": source_word}
            rows.append({**words, **shares, "gold": "yes" if linked else "no"})
    return pandas.DataFrame(rows)
