"""How much of a token comes from its context, layer by layer (Kobayashi et al. 2021)."""

from dataclasses import dataclass
from typing import Annotated

from headlight.analysis.settings import BootstrapSettings, TextSettings
from headlight.catalogue import Study
from headlight.settings import Range
from headlight.settings.slopes import Slope


@dataclass(frozen=True, kw_only=True)
class MixingSettings(BootstrapSettings, TextSettings):
    """Everything that the result depends on besides model and corpus.

    Attributes:
        feed_forward: also behind the feed-forward network, whose activations are straight lines;
            costs five passes more.
        slope: of these: ``chord`` from the bias (Kobayashi et al. 2024), ``zero_origin`` or
            ``derivative``.
        masks: share of the tokens of each text that the mask token stands in place of, which one
            depends on the text; 0.12 in the code of Kobayashi et al. (2021).
        bootstrap: how often texts are resampled for the intervals; 0 for none. Each resample costs
            four bytes per number of the result.
        seed: of the resampling, of pairs and of masks.
    """

    feed_forward: bool = False
    slope: Slope = "chord"
    masks: Annotated[float, Range(minimum=0, maximum=1)] = 0.0


STUDY = Study(
    name="mixing",
    title="how much of a token comes from other tokens",
    question="how much a layer mixes into a token from its context, and how much the token keeps",
    papers="Kobayashi et al. 2021 and 2024",
    reads="text",
    settings=MixingSettings,
    examples=(
        ("wiki/ --pairs --max-examples 992 --masks 0.12", "as Kobayashi did"),
        ("wiki/ --model gpt2 --layers 0-5", ""),
        ("wiki/ --feed-forward", "through the whole layer"),
    ),
    smallest={"bootstrap": 2},
    order=7,
    no_sentence=(
        "it speaks of whole layers, and of all tokens of a corpus; what a layer does with a"
        " sentence, a reading with residual=True shows"
    ),
)
