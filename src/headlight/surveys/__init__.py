"""The survey of a corpus: every head, by weight, norm and effective attention."""

from headlight.surveys.survey import SAMPLE, Folder, Settings, sample_settings, survey

__all__ = ["SAMPLE", "Folder", "Settings", "sample_settings", "survey"]
