"""Surveys of a corpus: every head, by weight, norm and effective attention."""

from headlight.surveys.folder import Folder
from headlight.surveys.importance import gradient_importance
from headlight.surveys.plan import SAMPLE
from headlight.surveys.settings import Settings, sample_settings
from headlight.surveys.survey import survey

__all__ = ["SAMPLE", "Folder", "Settings", "gradient_importance", "sample_settings", "survey"]
