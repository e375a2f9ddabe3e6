"""The survey: every head, by weight, norm, effective attention and gradient."""

from dataclasses import dataclass
from typing import Annotated

from headlight.analysis.settings import MeasureSettings, QueryBlockSettings, TextSettings
from headlight.catalogue import Study
from headlight.settings import NO_EFFECT, AtLeast0


@dataclass(frozen=True, kw_only=True)
class SurveySettings(MeasureSettings, QueryBlockSettings, TextSettings):
    """How to survey; everything that the result depends on besides model and corpus.

    With ``gradient`` among the measures, all of them look at what the objective lets the model see,
    some tokens being masked.

    Attributes:
        passages: keep for each head some tokens of the corpus where it does most what it does, and
            32 texts on which all heads are shown, for the report; leave it out where texts are
            private, and token_types as well.
        token_types: say of this many tokens of the vocabulary how much each head gives them and
            they give; those that come first in the vocabulary, in most the most frequent ones, and
            fewer where the sums of all heads would take more than 64 MB; 0 for none.
        gated_queries: where a gate is a vector for each query, norms are another computation for
            each: they are taken at this many queries of each text, evenly spread; 0 for all.
        pages: write a page for this many of the texts that the report shows passages of, which
            opens at the head; the corpus is gone through once more, until they are found.
    """

    passages: bool = True
    token_types: AtLeast0 = 2000
    gated_queries: AtLeast0 = 32
    pages: Annotated[AtLeast0, NO_EFFECT] = 0


STUDY = Study(
    name="survey",
    title="what every head does, by all measures",
    question="what weights, norms and effective attention say about every head",
    papers="Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020",
    reads="text",
    settings=SurveySettings,
    examples=(
        ("", "embedded model, sample corpus"),
        ("corpus.txt.gz --model bert-base-uncased --out run/", ""),
        ("wiki/ --pairs --max-examples 992", "as Clark and Kobayashi did"),
        ("wiki/ --measures weight,gradient", "runs the model backward as well"),
        ("hf:imdb:train:text --out imdb/ --resume", ""),
    ),
    order=1,
)
