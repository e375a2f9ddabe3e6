"""Settings of a study of identifiability."""

from dataclasses import dataclass

from headlight.analysis.settings import QueryBlockSettings, TextSettings
from headlight.settings import AtLeast1
from headlight.vocabulary import ValueBias


@dataclass(frozen=True, kw_only=True)
class IdentifiabilitySettings(QueryBlockSettings, TextSettings):
    """What a study of identifiability looks at; its result depends on all of it.

    Attributes:
        value_bias: whether T has the value bias in it.
        sample: points (length, correlation) that are kept for pictures.
        per_head: a point is a head of a text, not a text with all heads, layers and cells together;
            which of them Figure 1a of the paper has is not stated.
    """

    value_bias: ValueBias = "include"
    sample: AtLeast1 = 2_000
    per_head: bool = False
