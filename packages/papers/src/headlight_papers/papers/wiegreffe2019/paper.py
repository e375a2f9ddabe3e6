"""Paper of Wiegreffe and Pinter (2019): its exhibits in order."""

from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.paper import Paper
from headlight_papers.papers.wiegreffe2019 import (
    Settings,
    claims,
    figure_3_4_seeds,
    figure_5_plane,
    table_2_uniform_attention,
    table_3_guides,
    table_4_adversaries,
)

PAPER = Paper(
    name="wiegreffe2019",
    settings=Settings,
    introduction="Small classifiers of texts weigh the states of their words by one attention. It "
    "is asked whether they need it, how far it differs from seed to seed, whether it is of use to "
    "a model without context, and how far a second model that is trained to predict the same can "
    "attend otherwise. The models are trained here, on other texts and with other vectors than "
    "the paper's, so that directions can be compared, and not digits; those that are finished are "
    "kept, so that an interrupted reproduction goes on from them.",
    exhibits=arrange(
        "findings table-2 figure-3 table-3 table-4 figure-5",
        claims,
        figure_3_4_seeds,
        figure_5_plane,
        table_2_uniform_attention,
        table_3_guides,
        table_4_adversaries,
    ),
)
