"""Settings of a study of contributions."""

from dataclasses import dataclass, field
from typing import Literal

from headlight.analysis.settings import TextSettings
from headlight.attribution_settings import AttributionSettings
from headlight.settings import AtLeast0, AtLeast1
from headlight.vocabulary import Kind


@dataclass(frozen=True, kw_only=True)
class ContributionSettings(TextSettings):
    """What a study of contributions looks at; its result depends on all of it.

    Attributes:
        kind: the hidden tokens of which stack; by default the first that the model has.
        attribution: how contributions are computed.
        reach: relative positions are told apart from so many before a token to so many after it.
        tags: tell tokens apart by part of speech: ``upos`` or ``xpos`` of treebank sentences; None
            for texts without.
        units: what has a part of speech: the ``pieces`` of a word each on its own, or whole
            ``words``, of which contributions are the mean over the pieces of the hidden word and
            the sum over those of the input word.
        exact: so many examples are also computed exactly, to say how good the estimate is; nothing
            where all are exact.
        exact_tokens: those are the first of at most so many tokens: what is exact takes a time
            that grows with the square of the length.
    """

    kind: Kind | None = None
    attribution: AttributionSettings = field(default_factory=AttributionSettings)
    reach: AtLeast1 = 64
    tags: Literal["upos", "xpos"] | None = None
    units: Literal["pieces", "words"] = "pieces"
    exact: AtLeast0 = 20
    exact_tokens: AtLeast1 = 40
