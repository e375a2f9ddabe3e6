"""Paper of Clark et al. (2019): its exhibits in order."""

from headlight_papers.papers.clark2019 import (
    Settings,
    claims,
    figure_1_patterns,
    figure_2_special_tokens,
    figure_3_gradients,
    figure_4_entropy,
    figure_5_relations,
    figure_6_clusters,
    section_3_1_neighbours,
    table_1_dependency,
    table_2_coreference,
    table_3_probes,
)
from headlight_papers.papers.exhibit import arrange
from headlight_papers.papers.paper import Paper

PAPER = Paper(
    name="clark2019",
    settings=Settings,
    introduction="Every table and figure of the paper, reproduced on this model and data, with the "
    "published numbers beside ours. Heads have the name that they have everywhere in Headlight, "
    "and the paper's in brackets: L7H9 (8-10) is the tenth head of the eighth layer. Layers are "
    "numbered as in the paper, from 1. What the paper asks of attention weights is asked here of "
    "the norm of the weighted transformed vectors, of effective attention and of gradients as "
    "well.",
    exhibits=arrange(
        "findings figure-1 section-3-1 figure-2 figure-3 figure-4 table-1 "
        "figure-5 table-2 table-3 figure-6",
        claims,
        figure_1_patterns,
        figure_2_special_tokens,
        figure_3_gradients,
        figure_4_entropy,
        figure_5_relations,
        figure_6_clusters,
        section_3_1_neighbours,
        table_1_dependency,
        table_2_coreference,
        table_3_probes,
    ),
)
