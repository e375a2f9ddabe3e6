"""*Attention Module is Not Only a Weight* (Kobayashi et al. 2020), Section 4 and Appendices A-C.

Section 5, word alignment in translation, is not part of it yet.
"""

from headlight.papers.kobayashi2020.categories import (
    figure_3,
    figure_4,
    figure_10,
    figure_11,
    figure_12,
    no_op_report,
)
from headlight.papers.kobayashi2020.dispersion import table_1, table_4
from headlight.papers.kobayashi2020.findings import findings
from headlight.papers.kobayashi2020.pairs import figure_5, figure_6, table_2
from headlight.papers.kobayashi2020.singular import figure_9
from headlight.papers.plan import Paper, Plan

PAPER = Paper(
    name="kobayashi2020",
    title="Attention Module is Not Only a Weight (Kobayashi et al. 2020)",
    introduction="The tables and figures of Section 4 and of Appendices A to C, made anew on this "
    "model and data, with the published numbers beside ours. Layers and heads are named as in "
    "the paper, from 1: head 2-4 is the fourth head of the second layer. Everywhere else in "
    "Headlight they count from 0. Section 5, word alignment, is not among them.",
    plans=(
        Plan("findings", "Which findings hold", findings),
        Plan("table-1", "Dispersion of ‖f(x)‖", table_1),
        Plan("figure-3", "Weights and norms by kind of token", figure_3),
        Plan("table-2", "Do weights and norms cancel out?", table_2),
        Plan("figure-4", "α and ‖f(x)‖ of [SEP], head by head", figure_4),
        Plan("figure-5", "Pairs of α and ‖f(x)‖", figure_5),
        Plan("figure-6", "Frequent tokens have short vectors", figure_6),
        Plan("table-4", "Dispersion of ‖x‖", table_4),
        Plan("figure-9", "Singular values of f", figure_9),
        Plan("figure-10", "α and ‖f(x)‖ of [CLS], head by head", figure_10),
        Plan("figure-11", "α and ‖f(x)‖ of periods and commas, head by head", figure_11),
        Plan("figure-12", "α and ‖f(x)‖ of the other tokens, head by head", figure_12),
        Plan("no-op", "Where much weight moves little", no_op_report),
    ),
    of_any_kind=True,
)
