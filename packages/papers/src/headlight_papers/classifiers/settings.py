"""Settings of studies of classifiers that may keep files of each text."""

from dataclasses import dataclass

from headlight.settings import Common
from headlight.study_settings.classifiers import ClassifierSettings


@dataclass(frozen=True, kw_only=True)
class KeepSettings(ClassifierSettings):
    """Whether what numbers are made of is kept.

    Attributes:
        keep: write the data behind the numbers into ``kept`` of the run's folder.
    """

    keep: Common[bool] = False
