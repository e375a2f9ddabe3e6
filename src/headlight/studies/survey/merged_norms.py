"""Norms of the sum over all heads of a layer: ‖Σ_h α f(x)‖."""

from headlight.observations.variables import Variable, with_slots
from headlight.studies.survey.part import Outcome, Variables
from headlight.studies.survey.rows import nonzero_sums
from headlight.studies.survey.text_means import number

OF_MERGED_NORMS = {
    "merged_total": Variable(
        "norm of the sum over heads of what keys of a category send", "", interval="positive"
    ),
    "merged_share": Variable(
        "share of all keys of the norm of the sum over heads", interval="share"
    ),
}


def merged_norms(outcome: Outcome) -> Variables:
    """Return ‖Σ_h α f(x)‖; nothing if no norm was observed."""
    statistics = outcome.statistics
    if "merged" not in statistics:
        return {}
    dims, slots = ("layer", "query_category", "key_category"), dict(statistics["slots_merged"])
    slots |= {part: slots[part] / nonzero_sums(slots[part]) for part in ("mean", "without")}
    return {
        **number("merged_total", dims, statistics, "merged"),
        **with_slots("merged_share", dims, statistics["merged_share"]["ratio"], slots),
    }
