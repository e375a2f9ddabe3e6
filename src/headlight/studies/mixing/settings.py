"""Settings of the study of mixing ratios."""

from dataclasses import dataclass

from headlight.analysis.settings import BootstrapSettings, TextSettings
from headlight.catalogue import Study


@dataclass(frozen=True, kw_only=True)
class MixingSettings(BootstrapSettings, TextSettings):
    """Everything that the result depends on besides model and corpus.

    Attributes:
        bootstrap: how often texts are resampled for the intervals; 0 for none. Each resample costs
            four bytes per number of the result.
        seed: of the resampling, and of pairs.
    """


STUDY = Study(
    name="mixing",
    title="how much of a token comes from other tokens",
    question="how much a layer mixes into a token from its context, and how much the token keeps",
    papers="Kobayashi et al. 2021",
    reads="text",
    settings=MixingSettings,
    examples=(
        ("wiki/ --pairs --max-examples 992", "as Kobayashi did"),
        ("wiki/ --model gpt2 --layers 0-5", ""),
    ),
    smallest={"bootstrap": 2},
    order=7,
    no_sentence=(
        "it speaks of whole layers, and of all tokens of a corpus; what a layer does with a"
        " sentence, a reading with residual=True shows"
    ),
)
