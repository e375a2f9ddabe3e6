"""Findings of the paper, and whether they hold here."""

from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import claims
from headlight_papers.papers.brunner2020.attention.results import (
    load_alternatives,
    load_identifiability,
    load_survey,
)
from headlight_papers.papers.brunner2020.contribution.results import load_contributions
from headlight_papers.papers.brunner2020.identity.results import load_across_layers, load_same_layer
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.claims import claims_content
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_note
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
