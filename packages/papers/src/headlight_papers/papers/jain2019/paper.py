"""*Attention is not Explanation* (Jain and Wallace 2019)."""

from dataclasses import replace

from headlight_papers.papers.exhibit import Paper
from headlight_papers.papers.jain2019.claims import findings
from headlight_papers.papers.jain2019.figures import (
    figure_2,
    figure_3,
    figure_6,
    figure_7,
    figure_8,
)
from headlight_papers.papers.jain2019.settings import Settings
from headlight_papers.papers.jain2019.tables import table_1, table_2

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
    exhibits=tuple(
        replace(each, needs=("labelled",))
        for each in (findings, table_1, table_2, figure_2, figure_3, figure_6, figure_7, figure_8)
    ),
)
