"""How much of attention is identifiable (Brunner et al. 2020, Section 3)."""

from dataclasses import dataclass

from headlight.analysis.settings import QueryBlockSettings, TextSettings
from headlight.catalogue import Study
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


STUDY = Study(
    name="identifiability",
    title="what of attention the output tells",
    question="how much of attention is identifiable from the output",
    papers="Brunner et al. 2020, Section 3",
    reads="text",
    settings=IdentifiabilitySettings,
    examples=(
        ("wiki/ --max-length 256", ""),
        ("wiki/ --value-bias exclude --per-head", ""),
    ),
    smallest={"sample": 5},
    order=7,
    no_sentence=(
        "it speaks of ranks and null spaces, which depend on the length of a text and not on its "
        "words"
    ),
)
