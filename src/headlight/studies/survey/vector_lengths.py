"""Lengths of transformed vectors and of their inputs, and how they are dispersed."""

from headlight.observations.dispersion import describe_dispersion, dispersion
from headlight.studies.survey.part import Outcome, Variables

OF_LENGTHS = {
    **describe_dispersion("vector_norm", "‖f(x)‖"),
    **describe_dispersion("input_norm", "‖x‖"),
}


def lengths(outcome: Outcome) -> Variables:
    """Return the dispersion of the lengths of transformed vectors, and of their inputs."""
    statistics = outcome.statistics
    return dispersion("vector_norm", statistics, ("layer", "head")) | dispersion(
        "input_norm", statistics, ("layer",)
    )
