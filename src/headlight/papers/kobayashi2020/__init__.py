"""*Attention Module is Not Only a Weight* (Kobayashi et al. 2020), Section 4 and Appendices A-C.

Section 5, word alignment in translation, is not part of it yet.
"""

from headlight.papers.exhibit import Paper
from headlight.papers.kobayashi2020.categories import (
    figure_3,
    figure_4,
    figure_10,
    figure_11,
    figure_12,
    no_op_heads,
)
from headlight.papers.kobayashi2020.claims import findings
from headlight.papers.kobayashi2020.dispersion import table_1, table_4
from headlight.papers.kobayashi2020.pairs import figure_5, figure_6, table_2
from headlight.papers.kobayashi2020.singular import figure_9

PAPER = Paper(
    name="kobayashi2020",
    title="Attention Module is Not Only a Weight (Kobayashi et al. 2020)",
    introduction="The tables and figures of Section 4 and of Appendices A to C, made anew on this "
    "model and data, with the published numbers beside ours. Layers and heads are named as in "
    "the paper, from 1: head 2-4 is the fourth head of the second layer. Everywhere else in "
    "Headlight they count from 0. Section 5, word alignment, is not among them.",
    exhibits=(
        findings, table_1, figure_3, table_2, figure_4, figure_5, figure_6, table_4, figure_9,
        figure_10, figure_11, figure_12, no_op_heads,
    ),
    of_any_kind=True,
)  # fmt: skip
