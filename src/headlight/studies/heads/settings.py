"""Settings of the survey."""

from dataclasses import dataclass

from headlight.analysis.settings import MeasureSettings, TextSettings


@dataclass(frozen=True, kw_only=True)
class SurveySettings(MeasureSettings, TextSettings):
    """How to survey; everything that the result depends on besides model and corpus.

    With ``gradient`` among the measures, all of them look at what the objective lets the model see,
    some tokens being masked.

    Attributes:
        passages: keep for each head some tokens of the corpus where it does most what it does, for
            the report; leave it out where texts are private.
    """

    passages: bool = True
