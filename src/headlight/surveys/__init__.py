"""Surveys of a corpus: every head, by weight, norm, effective attention and gradient."""

from headlight.surveys.contributions import contribution_study
from headlight.surveys.contributions_settings import ContributionOptions
from headlight.surveys.distances import head_distances
from headlight.surveys.folder import Folder
from headlight.surveys.frequency import FrequencyRanks
from headlight.surveys.identifiability import IdentifiabilityOptions, identifiability_study
from headlight.surveys.importance import gradient_importance
from headlight.surveys.norms import norm_study
from headlight.surveys.norms_settings import NormOptions
from headlight.surveys.plan import SAMPLE
from headlight.surveys.settings import Settings, sample_settings
from headlight.surveys.survey import survey

__all__ = [
    "SAMPLE",
    "ContributionOptions",
    "Folder",
    "FrequencyRanks",
    "IdentifiabilityOptions",
    "NormOptions",
    "Settings",
    "contribution_study",
    "gradient_importance",
    "head_distances",
    "identifiability_study",
    "norm_study",
    "sample_settings",
    "survey",
]
