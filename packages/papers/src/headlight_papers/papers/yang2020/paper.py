"""Paper of Yang (2020): its exhibits in order."""

from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.paper import Paper
from headlight_papers.papers.yang2020 import (
    Settings,
    claims,
    exclusivity,
    figure_1_divergence,
    figure_5_plane,
    rankings,
    table_1_adversaries,
    table_2_guides,
)

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
    exhibits=arrange(
        "findings table-1 figure-1 rankings figure-5 table-2 exclusivity",
        claims,
        exclusivity,
        figure_1_divergence,
        figure_5_plane,
        rankings,
        table_1_adversaries,
        table_2_guides,
    ),
)
