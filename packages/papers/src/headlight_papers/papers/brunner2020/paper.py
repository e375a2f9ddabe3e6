"""Findings of Brunner et al. (2020), and the exhibits in order."""

from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import (
    Settings,
    claims,
    context_contributions,
    effective_attention,
    identity_layers,
    identity_rates,
    null_spaces,
    own_contributions,
)
from headlight_papers.papers.brunner2020.identity_layers import load_across_layers, load_same_layer
from headlight_papers.papers.brunner2020.null_spaces import (
    load_alternatives,
    load_identifiability,
    load_survey,
)
from headlight_papers.papers.brunner2020.own_contributions import load_contributions
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.brunner2020.published import SOURCE
from headlight_papers.papers.claims import claims_content
from headlight_papers.papers.exhibit import ExhibitWriter, Paper, arrange, exhibits_of
from headlight_papers.papers.reproduction import Reproduction, model_note

exhibit = exhibits_of(SOURCE)


@exhibit("findings", "Sections 3 to 5", "pairs", title="Which findings hold")
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
    exhibits=arrange(
        "findings section-3 figure-1 figure-2 figure-3 figure-4 figure-5 "
        "figure-6 figure-7 figure-8 figure-9 figure-10 figure-11 figure-12 "
        "figure-13 figure-14 figure-15 figure-16 figure-17 figure-18 figure-19 "
        "figure-26 figure-38 figure-39 figure-40 figure-41 figure-42 figure-43",
        findings,
        null_spaces,
        effective_attention,
        identity_rates,
        identity_layers,
        own_contributions,
        context_contributions,
    ),
)
