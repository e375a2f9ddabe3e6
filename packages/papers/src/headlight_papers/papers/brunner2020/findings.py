"""Findings of Brunner et al. (2020), judged by the rules of `claims`."""

from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import claims
from headlight_papers.papers.brunner2020.contribution_results import load_contributions
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.figure_8_9_10_generalisation import load_across_layers
from headlight_papers.papers.brunner2020.identity_maps import load_same_layer
from headlight_papers.papers.brunner2020.null_space_results import (
    load_alternatives,
    load_identifiability,
    load_survey,
)
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.claims import claims_content
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.reproduction import Reproduction


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
