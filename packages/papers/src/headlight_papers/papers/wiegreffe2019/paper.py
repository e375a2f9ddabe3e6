"""*Attention is not not Explanation* (Wiegreffe and Pinter 2019)."""

from dataclasses import replace

from headlight_papers.papers.exhibit import Paper
from headlight_papers.papers.wiegreffe2019.claims import findings
from headlight_papers.papers.wiegreffe2019.figures import figure_3, figure_5
from headlight_papers.papers.wiegreffe2019.settings import Settings
from headlight_papers.papers.wiegreffe2019.tables import table_2, table_3, table_4

PAPER = Paper(
    name="wiegreffe2019",
    settings=Settings,
    introduction="Small classifiers of texts weigh the states of their words by one attention. It "
    "is asked whether they need it, how far it differs from seed to seed, whether it is of use to "
    "a model without context, and how far a second model that is trained to predict the same can "
    "attend otherwise. The models are trained here, on other texts and with other vectors than "
    "the paper's, so that directions can be compared, and not digits; those that are finished are "
    "kept, so that an interrupted reproduction goes on from them.",
    exhibits=tuple(
        replace(each, needs=("labelled",))
        for each in (findings, table_2, figure_3, table_3, table_4, figure_5)
    ),
)
