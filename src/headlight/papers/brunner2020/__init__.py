"""*On Identifiability in Transformers* (Brunner et al. 2020)."""

from headlight.papers.brunner2020.contribution import figure_3, figure_40, figure_42
from headlight.papers.brunner2020.contribution_neighbours import (
    figure_4,
    figure_18,
    figure_41,
    figure_43,
)
from headlight.papers.brunner2020.contribution_tags import figure_26
from headlight.papers.brunner2020.contribution_tracked import figure_19
from headlight.papers.plan import Paper, Plan

PAPER = Paper(
    name="brunner2020",
    title="On Identifiability in Transformers (Brunner et al. 2020)",
    introduction="Every table and figure of the paper, made anew on this model and data, with the "
    "published numbers beside ours. Layers and heads are named as in the paper, from 1; layer 0 "
    "stands for the input embeddings. Everywhere else in Headlight they count from 0.",
    plans=(
        Plan("figure-3", "Contribution of a token to itself", figure_3, ("pairs",)),
        Plan("figure-4", "Contribution of context", figure_4, ("pairs",)),
        Plan("figure-18", "Contribution to [CLS]", figure_18, ("pairs",)),
        Plan("figure-19", "Tokens tracked through the layers", figure_19, ("pairs",)),
        Plan(
            "figure-26",
            "Contribution of a token to itself, by part of speech",
            figure_26,
            ("dependency",),
        ),
        Plan("figure-40", "Contribution of a token to itself, CoLA", figure_40, ("cola",)),
        Plan("figure-41", "Contribution of context, CoLA", figure_41, ("cola",)),
        Plan("figure-42", "Contribution of a token to itself, MNLI", figure_42, ("mnli",)),
        Plan("figure-43", "Contribution of context, MNLI", figure_43, ("mnli",)),
    ),
)
