"""Paper of Jain and Wallace (2019): its exhibits in order."""

from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.jain2019 import (
    Settings,
    claims,
    figure_2_correlations,
    figure_3_4_5_agreement,
    figure_6_8_largest_weight,
    figure_7_adversaries,
    table_1_sets,
    table_2_correlations,
)
from headlight_papers.papers.paper import Paper

PAPER = Paper(
    name="jain2019",
    settings=Settings,
    introduction="Small classifiers of texts weigh the states of their words by one attention. Its "
    "weights are compared with what gradients say of each word, and with what predictions lose "
    "without it; they are permuted, and replaced by the most different ones that leave the "
    "prediction as it is. The tables and figures of the paper are reproduced, with the numbers of "
    "the authors' released results beside ours, which are of other texts: directions can be "
    "compared, and not digits. The models are trained here; those that are finished are kept, so "
    "that an interrupted reproduction goes on from them.",
    exhibits=arrange(
        "findings table-1 table-2 figure-2 figure-3 figure-6 figure-7 figure-8",
        claims,
        figure_2_correlations,
        figure_3_4_5_agreement,
        figure_6_8_largest_weight,
        figure_7_adversaries,
        table_1_sets,
        table_2_correlations,
    ),
)
