"""Paper of Brunner et al. (2020): its exhibits in order."""

from headlight_papers.papers.brunner2020 import (
    Settings,
    figure_1_effective_attention,
    figure_2_38_39_identifiability,
    figure_3_40_42_own_contribution,
    figure_4_41_43_neighbours,
    figure_5_separators,
    figure_6_example_head,
    figure_7_other_sequences,
    figure_8_9_10_generalisation,
    figure_11_12_13_single_layers,
    figure_14_to_17_neighbours,
    figure_18_first_token,
    figure_19_to_25_tracked_tokens,
    figure_26_to_37_parts_of_speech,
    findings,
    section_3_null_spaces,
)
from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.paper import Paper

PAPER = Paper(
    name="brunner2020",
    settings=Settings,
    introduction="The figures of the paper and of its appendices, reproduced on this model and "
    "data, with the published numbers beside ours: attention that its output does not determine "
    "(Section 3, Figures 1, 5 and 6), input tokens found again from hidden ones (Figures 2, 7 to "
    "17, 38 and 39), and what input tokens contribute to hidden ones (Figures 3, 4, 18 to 37, and "
    "40 to 43). Heads have the name that they have everywhere in Headlight, and the paper's, "
    "from 1, in brackets. Layers are numbered as in the paper, from 1.",
    exhibits=arrange(
        "findings section-3 figure-1 figure-2 figure-3 figure-4 figure-5 "
        "figure-6 figure-7 figure-8 figure-9 figure-10 figure-11 figure-12 "
        "figure-13 figure-14 figure-15 figure-16 figure-17 figure-18 figure-19 "
        "figure-26 figure-38 figure-39 figure-40 figure-41 figure-42 figure-43",
        figure_1_effective_attention,
        figure_2_38_39_identifiability,
        figure_3_40_42_own_contribution,
        figure_4_41_43_neighbours,
        figure_5_separators,
        figure_6_example_head,
        figure_7_other_sequences,
        figure_8_9_10_generalisation,
        figure_11_12_13_single_layers,
        figure_14_to_17_neighbours,
        figure_18_first_token,
        figure_19_to_25_tracked_tokens,
        figure_26_to_37_parts_of_speech,
        findings,
        section_3_null_spaces,
    ),
)
