"""Settings of the survey."""

from dataclasses import dataclass
from typing import Annotated

from headlight.analysis.settings import MeasureSettings, QueryBlockSettings, TextSettings
from headlight.settings import NO_EFFECT, AtLeast0


@dataclass(frozen=True, kw_only=True)
class SurveySettings(MeasureSettings, QueryBlockSettings, TextSettings):
    """How to survey; everything that the result depends on besides model and corpus.

    With ``gradient`` among the measures, all of them look at what the objective lets the model see,
    some tokens being masked.

    Attributes:
        passages: keep for each head some tokens of the corpus where it does most what it does, for
            the report; leave it out where texts are private.
        pages: write a page for so many of the texts that the report shows passages of, which opens
            at the head; the corpus is gone through once more, until they are found.
    """

    passages: bool = True
    pages: Annotated[AtLeast0, NO_EFFECT] = 0
