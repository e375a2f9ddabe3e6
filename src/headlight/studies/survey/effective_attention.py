"""Effective attention beside the weights: the rank of T, and their correlation."""

from headlight.observations.variables import Variable
from headlight.studies.survey.part import Outcome, Variables
from headlight.studies.survey.text_means import number

OF_EFFECTIVE = {
    "rank": Variable("rank of T", interval="positive"),
    "effective_correlation": Variable("correlation (Pearson's r) of raw and effective attention"),
    "effective_correlation_by_head": Variable(
        "correlation (Pearson's r) of raw and effective attention", interval="correlation"
    ),
    "effective_correlation_std": Variable("its standard deviation over texts"),
    "effective_correlation_count": Variable("texts"),
}


def effective(outcome: Outcome) -> Variables:
    """Return effective attention compared with the weights; nothing if it was not observed."""
    statistics = outcome.statistics
    if "correlation" not in statistics:
        return {}
    correlation, by_head = statistics["correlation"], ("layer", "head")
    return {
        "length": correlation["key"],
        **number("rank", by_head, statistics, "rank"),
        **number("effective_correlation_by_head", by_head, statistics, "correlation_by_head"),
        "effective_correlation": ("length", correlation["mean"]),
        "effective_correlation_std": ("length", correlation["std"]),
        "effective_correlation_count": ("length", correlation["count"]),
    }
