"""*What Does BERT Look At? An Analysis of BERT's Attention* (Clark et al. 2019)."""

from headlight.papers.clark2019.clusters import figure_6
from headlight.papers.clark2019.coreference import table_2
from headlight.papers.clark2019.drawings import figure_1, figure_5
from headlight.papers.clark2019.gradients import figure_3
from headlight.papers.clark2019.probing import table_3
from headlight.papers.clark2019.surface import figure_2, figure_4, section_3_1
from headlight.papers.clark2019.syntax import table_1
from headlight.papers.plan import Paper, Plan

PAPER = Paper(
    name="clark2019",
    title="What Does BERT Look At? (Clark et al. 2019)",
    introduction="Every table and figure of the paper, made anew on this model and data, with the "
    "published numbers beside ours. Layers and heads are named as in the paper, from 1: head 8-10 "
    "is the tenth head of the eighth layer. Everywhere else in Headlight they count from 0. What "
    "the paper asks of attention weights is asked here of the norm of the weighted transformed "
    "vectors, of effective attention and of gradients as well.",
    plans=(
        Plan("figure-1", "Examples of heads", figure_1),
        Plan("section-3-1", "Heads that attend to a neighbour", section_3_1),
        Plan("figure-2", "Attention to special tokens", figure_2),
        Plan("figure-3", "How much the loss depends on attention", figure_3, ("gradient",)),
        Plan("figure-4", "Focused and broad attention", figure_4),
        Plan("table-1", "Heads as parsers", table_1, ("dependency",)),
        Plan("figure-5", "Heads with a linguistic job", figure_5, ("dependency",)),
        Plan("table-2", "Heads as resolvers of coreference", table_2, ("coreference",)),
        Plan("table-3", "What heads know together", table_3, ("dependency",)),
        Plan("figure-6", "Heads that behave alike", figure_6),
    ),
    segment_ids="zeros",
)
