"""Findings of Brunner et al. (2020), and the exhibits in order."""

from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import Settings, claims
from headlight_papers.papers.brunner2020.context_contributions import (
    figure_4,
    figure_18,
    figure_19,
    figure_41,
    figure_43,
)
from headlight_papers.papers.brunner2020.effective_attention import figure_1, figure_5, figure_6
from headlight_papers.papers.brunner2020.identity_layers import (
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
    load_across_layers,
    load_same_layer,
)
from headlight_papers.papers.brunner2020.identity_rates import (
    figure_2,
    figure_7,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_38,
    figure_39,
)
from headlight_papers.papers.brunner2020.null_spaces import (
    load_alternatives,
    load_identifiability,
    load_survey,
    section_3,
)
from headlight_papers.papers.brunner2020.own_contributions import (
    figure_3,
    figure_26,
    figure_40,
    figure_42,
    load_contributions,
)
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.claims import claims_content
from headlight_papers.papers.exhibit import Paper, exhibit
from headlight_papers.papers.reproduction import Reproduction, model_note
from headlight_papers.papers.writer import ExhibitWriter


@exhibit("findings", "Which findings hold", "Brunner et al. (2020), Sections 3 to 5", ("pairs",))
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The findings of Sections 3 to 5, each with the rule by which it holds or not."""
    pairs = find_pair_set(reproduction)
    linear = load_same_layer(reproduction, pairs, "linear").squeeze(("map", "offset", "fraction"))
    across = load_across_layers(reproduction, pairs, "linear", "cosine")
    contributions = load_contributions(reproduction, pairs)
    judged = [
        claims.not_identifiable(load_alternatives(reproduction)),
        claims.less_correlated(load_identifiability(reproduction)),
        claims.peak_vanishes(load_survey(reproduction)),
        claims.keeps_identity(linear["rate"]),
        claims.in_the_angle(linear["rate"].isel(layer=-1)),
        claims.easier_downwards(across["rate_across_mean"].squeeze(drop=True)),
        claims.mixes(contributions),
        claims.still_largest(contributions),
        claims.local(contributions),
        claims.far_context_is_deep(contributions),
    ]
    note = "Every number is that of another exhibit on this page, where it is explained."
    return claims_content(writer, judged, [model_note(reproduction), note])


PAPER = Paper(
    name="brunner2020",
    settings=Settings,
    introduction="The figures of the paper and of its appendices, reproduced on this model and "
    "data, with the published numbers beside ours: attention that its output does not determine "
    "(Section 3, Figures 1, 5 and 6), input tokens found again from hidden ones (Figures 2, 7 to "
    "17, 38 and 39), and what input tokens contribute to hidden ones (Figures 3, 4, 18 to 37, and "
    "40 to 43). Heads have the name that they have everywhere in Headlight, and the paper's, "
    "from 1, in brackets. Layers are numbered as in the paper, from 1.",
    exhibits=(
        findings, section_3, figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7,
        figure_8, figure_9, figure_10, figure_11, figure_12, figure_13, figure_14, figure_15,
        figure_16, figure_17, figure_18, figure_19, figure_26, figure_38, figure_39, figure_40,
        figure_41, figure_42, figure_43,
    ),
)  # fmt: skip
