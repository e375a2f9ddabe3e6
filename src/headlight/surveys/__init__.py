"""The survey of a corpus: every head, by weight, norm and effective attention."""

from headlight.surveys.folder import Folder
from headlight.surveys.survey import SAMPLE, Settings, sample_settings, survey

__all__ = ["SAMPLE", "Folder", "Settings", "sample_settings", "survey"]
