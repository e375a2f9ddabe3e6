"""*Attention Module is Not Only a Weight* (Kobayashi et al. 2020)."""

from headlight_papers.papers.exhibit import Paper
from headlight_papers.papers.kobayashi2020.alignment.claims import findings_5
from headlight_papers.papers.kobayashi2020.alignment.examples import figure_8, figure_13
from headlight_papers.papers.kobayashi2020.alignment.heads import head_aer
from headlight_papers.papers.kobayashi2020.alignment.layers import figure_7
from headlight_papers.papers.kobayashi2020.alignment.table import table_3
from headlight_papers.papers.kobayashi2020.categories import (
    figure_3,
    figure_4,
    figure_10,
    figure_11,
    figure_12,
    no_op_heads,
)
from headlight_papers.papers.kobayashi2020.claims import findings
from headlight_papers.papers.kobayashi2020.dispersion import table_1, table_4
from headlight_papers.papers.kobayashi2020.pairs import figure_5, figure_6, table_2
from headlight_papers.papers.kobayashi2020.settings import Settings
from headlight_papers.papers.kobayashi2020.singular import figure_9

PAPER = Paper(
    name="kobayashi2020",
    settings=Settings,
    introduction="The tables and figures of Section 4 and of Appendices A to C, reproduced on this "
    "model and data, and those of Section 5 and Appendix E, word alignment, on a translator; with "
    "the published numbers beside ours. Heads have the name that they have everywhere in "
    "Headlight, and the paper's in brackets: L1H3 (2-4) is the fourth head of the second layer. "
    "Layers are numbered as in the paper, from 1.",
    exhibits=(
        findings, table_1, figure_3, table_2, figure_4, figure_5, figure_6, table_4, figure_9,
        figure_10, figure_11, figure_12, no_op_heads, figure_7, figure_8, figure_13, head_aer,
        table_3, findings_5,
    ),
)  # fmt: skip
