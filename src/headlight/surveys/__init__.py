"""Surveys of a corpus: every head, by weight, norm, effective attention and gradient."""

from headlight.surveys.distances import head_distances
from headlight.surveys.folder import Folder
from headlight.surveys.importance import gradient_importance
from headlight.surveys.plan import SAMPLE
from headlight.surveys.settings import Settings, sample_settings
from headlight.surveys.survey import survey

__all__ = [
    "SAMPLE",
    "Folder",
    "Settings",
    "gradient_importance",
    "head_distances",
    "sample_settings",
    "survey",
]
