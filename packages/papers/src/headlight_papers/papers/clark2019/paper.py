"""*What Does BERT Look At? An Analysis of BERT's Attention* (Clark et al. 2019)."""

from headlight_papers.papers.clark2019.claims import findings
from headlight_papers.papers.clark2019.clusters import figure_6
from headlight_papers.papers.clark2019.coreference import table_2
from headlight_papers.papers.clark2019.drawings import figure_1, figure_5
from headlight_papers.papers.clark2019.gradients import figure_3
from headlight_papers.papers.clark2019.probing import table_3
from headlight_papers.papers.clark2019.settings import Settings
from headlight_papers.papers.clark2019.surface import figure_2, figure_4, section_3_1
from headlight_papers.papers.clark2019.syntax import table_1
from headlight_papers.papers.exhibit import Paper

PAPER = Paper(
    name="clark2019",
    settings=Settings,
    introduction="Every table and figure of the paper, reproduced on this model and data, with the "
    "published numbers beside ours. Heads have the name that they have everywhere in Headlight, "
    "and the paper's in brackets: L7H9 (8-10) is the tenth head of the eighth layer. Layers are "
    "numbered as in the paper, from 1. What the paper asks of attention weights is asked here of "
    "the norm of the weighted transformed vectors, of effective attention and of gradients as "
    "well.",
    exhibits=(
        findings, figure_1, section_3_1, figure_2, figure_3, figure_4, table_1, figure_5, table_2,
        table_3, figure_6,
    ),
)  # fmt: skip
