"""*On Identifiability in Transformers* (Brunner et al. 2020)."""

from headlight.papers.brunner2020.attention import figure_1, figure_5
from headlight.papers.brunner2020.attention_maps import figure_6
from headlight.papers.brunner2020.attention_null import section_3
from headlight.papers.brunner2020.contribution import figure_3, figure_40, figure_42
from headlight.papers.brunner2020.contribution_neighbours import (
    figure_4,
    figure_18,
    figure_41,
    figure_43,
)
from headlight.papers.brunner2020.contribution_tags import figure_26
from headlight.papers.brunner2020.contribution_tracked import figure_19
from headlight.papers.brunner2020.findings import findings
from headlight.papers.brunner2020.identity import figure_2, figure_7, figure_38, figure_39
from headlight.papers.brunner2020.identity_layers import (
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
)
from headlight.papers.brunner2020.identity_neighbours import (
    figure_14,
    figure_15,
    figure_16,
    figure_17,
)
from headlight.papers.plan import Paper, Plan

PAIRS = ("pairs",)

PAPER = Paper(
    name="brunner2020",
    title="On Identifiability in Transformers (Brunner et al. 2020)",
    introduction="The figures of the paper and of its appendices, made anew on this model and "
    "data, with the published numbers beside ours: attention that its output does not determine "
    "(Section 3, Figures 1, 5 and 6), input tokens found again from hidden ones (Figures 2, 7 to "
    "17, 38 and 39), and what input tokens contribute to hidden ones (Figures 3, 4, 18 to 37, and "
    "40 to 43). Layers and heads are named as in the paper, from 1. Everywhere else in Headlight "
    "they count from 0.",
    plans=(
        Plan("findings", "Which findings hold", findings, ("pairs",)),
        Plan("section-3", "Attention cannot be told from the output", section_3),
        Plan("figure-1", "Effective and raw attention", figure_1),
        Plan("figure-2", "Tokens identified, by layer", figure_2, PAIRS),
        Plan("figure-3", "Contribution of a token to itself", figure_3, PAIRS),
        Plan("figure-4", "Contribution of context", figure_4, PAIRS),
        Plan("figure-5", "Attention to [SEP], effective and raw", figure_5),
        Plan("figure-6", "Raw, effective and null attention of one head", figure_6),
        Plan("figure-7", "Tokens identified in training and in testing", figure_7, PAIRS),
        Plan("figure-8", "Linear maps by L2 distance, tested on all layers", figure_8, PAIRS),
        Plan("figure-9", "MLPs by L2 distance, tested on all layers", figure_9, PAIRS),
        Plan("figure-10", "MLPs by cosine distance, tested on all layers", figure_10, PAIRS),
        Plan("figure-11", "Identity across single layers", figure_11, PAIRS),
        Plan(
            "figure-12",
            "Identity across single layers of two models",
            figure_12,
            ("pairs", "compared"),
        ),
        Plan(
            "figure-13",
            "Identity across single layers of two models, CoLA",
            figure_13,
            ("cola", "compared"),
        ),
        Plan("figure-14", "Neighbours recovered: linear, cosine", figure_14, PAIRS),
        Plan("figure-15", "Neighbours recovered: MLP, cosine", figure_15, PAIRS),
        Plan("figure-16", "Neighbours recovered: MLP, L2", figure_16, PAIRS),
        Plan("figure-17", "Neighbours recovered: linear, L2", figure_17, PAIRS),
        Plan("figure-18", "Contribution to [CLS]", figure_18, PAIRS),
        Plan("figure-19", "Tokens tracked through the layers (Figures 19 to 25)", figure_19, PAIRS),
        Plan(
            "figure-26",
            "Contribution of a token to itself, by part of speech (Figures 26 to 37)",
            figure_26,
            ("dependency",),
        ),
        Plan("figure-38", "Tokens identified, CoLA", figure_38, ("cola",)),
        Plan("figure-39", "Tokens identified, MNLI", figure_39, ("mnli",)),
        Plan("figure-40", "Contribution of a token to itself, CoLA", figure_40, ("cola",)),
        Plan("figure-41", "Contribution of context, CoLA", figure_41, ("cola",)),
        Plan("figure-42", "Contribution of a token to itself, MNLI", figure_42, ("mnli",)),
        Plan("figure-43", "Contribution of context, MNLI", figure_43, ("mnli",)),
    ),
)
