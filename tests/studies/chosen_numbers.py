"""Surveys of numbers that are left out by default, and those numbers alone."""

from typing import Any

import xarray as xr

from headlight.observations.variables import long_names
from headlight.studies.survey import NEEDS, SurveySettings
from headlight.studies.survey.study import PARTS, run
from open_folders import opening

NAMES = {part.name: set(long_names(part.variables)) for part in PARTS if part.chosen}
"""Variables of each of them."""
ALSO = {
    "ranks": {"total", "share", "vector_norm_mean", "vector_norm_std", "vector_norm_cv",
              "vector_norm_min", "vector_norm_max", "input_norm_mean", "input_norm_std",
              "input_norm_cv"},
    "importance": set[str](),
    "sinks": {"behaviour_share", "value_drain"},
    "null_space": {"rank", "effective_correlation", "effective_correlation_by_head"},
}  # fmt: skip
"""Variables of every survey that have to do with them."""


def settings_for(name: str, **settings: Any) -> SurveySettings:
    """Settings of a survey with those numbers, and little else."""
    measures = NEEDS[name] or ("weight",)
    few = {"passages": False, "token_types": 0, "measures": measures}
    return SurveySettings(**{"numbers": (name,), **few, **settings})


def survey_with(
    name: str, corpus: Any, found: Any, settings: SurveySettings | None = None, **more: Any
) -> xr.Dataset:
    """Those numbers of a survey."""
    result = opening(run)(corpus, found, settings or settings_for(name), progress=False, **more)
    return only(name, result)


def only(name: str, result: xr.Dataset) -> xr.Dataset:
    """Those numbers of a result, and what every survey has to do with them."""
    kept = [each for each in result.data_vars if each in NAMES[name] | ALSO[name]]
    return result.drop_vars([each for each in result.data_vars if each not in kept])
