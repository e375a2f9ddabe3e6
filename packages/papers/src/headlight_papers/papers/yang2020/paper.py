"""*Is Attention Points Out the Only "Path"? An Analysis on Transformers* (Yang 2020)."""

from dataclasses import replace

from headlight_papers.papers.exhibit import Paper
from headlight_papers.papers.yang2020.claims import findings
from headlight_papers.papers.yang2020.exclusivity import exclusivity
from headlight_papers.papers.yang2020.figures import figure_1, figure_5
from headlight_papers.papers.yang2020.rankings import rankings
from headlight_papers.papers.yang2020.settings import Settings
from headlight_papers.papers.yang2020.tables import table_1, table_2

PAPER = Paper(
    name="yang2020",
    settings=Settings,
    introduction="A tagger of one Transformer layer learns to find chunks. Adversaries of it are "
    "trained to tag as it does and to attend otherwise, by a loss in which λ weighs the divergence "
    "of attention, and new models are given attention to work with that was trained elsewhere. The "
    "tables and figures of the paper are reproduced, each over several seeds, with the published "
    "numbers beside ours, which are of other sentences and other vectors: directions can be "
    "compared, and not digits. The models are trained here; those that are finished are kept, so "
    "that an interrupted reproduction goes on from them.",
    exhibits=tuple(
        replace(each, needs=("tagged", *each.needs))
        for each in (findings, table_1, figure_1, rankings, figure_5, table_2, exclusivity)
    ),
)
