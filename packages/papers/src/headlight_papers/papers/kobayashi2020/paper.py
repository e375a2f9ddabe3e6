"""Paper of Kobayashi et al. (2020): its exhibits in order."""

from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.kobayashi2020 import (
    Settings,
    alignment_claims,
    figure_3_token_kinds,
    figure_4_10_11_12_heads,
    figure_5_pairs,
    figure_6_frequency,
    figure_7_layers,
    figure_8_13_to_17_soft_alignments,
    figure_9_singular_values,
    head_error_rates,
    no_op_heads,
    norm_claims,
    table_1_4_dispersion,
    table_2_correlation,
    table_3_error_rates,
)
from headlight_papers.papers.paper import Paper

PAPER = Paper(
    name="kobayashi2020",
    settings=Settings,
    introduction="The tables and figures of Section 4 and of Appendices A to C, reproduced on this "
    "model and data, and those of Section 5 and Appendix E, word alignment, on a translator; with "
    "the published numbers beside ours. Heads have the name that they have everywhere in "
    "Headlight, and the paper's in brackets: L1H3 (2-4) is the fourth head of the second layer. "
    "Layers are numbered as in the paper, from 1.",
    exhibits=arrange(
        "findings table-1 figure-3 table-2 figure-4 figure-5 figure-6 table-4 "
        "figure-9 figure-10 figure-11 figure-12 no-op figure-7 figure-8 "
        "figure-13 head-aer table-3 findings-5",
        alignment_claims,
        figure_3_token_kinds,
        figure_4_10_11_12_heads,
        figure_5_pairs,
        figure_6_frequency,
        figure_7_layers,
        figure_8_13_to_17_soft_alignments,
        figure_9_singular_values,
        head_error_rates,
        no_op_heads,
        norm_claims,
        table_1_4_dispersion,
        table_2_correlation,
        table_3_error_rates,
    ),
)
