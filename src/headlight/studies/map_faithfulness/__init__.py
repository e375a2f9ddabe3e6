"""Which map of a text names the tokens that a prediction rests on."""

from dataclasses import dataclass
from typing import Literal

from headlight.analysis.settings import (
    RANDOM,
    BootstrapSettings,
    Removal,
    RowsOfText,
    TextSettings,
)
from headlight.catalogue import Study
from headlight.settings import AtLeast1, require_distinct
from headlight.settings.attribution import AttributionSettings
from headlight.settings.flow import FollowedMap
from headlight.settings.slopes import Slope

TokenMap = Literal[
    "weight",
    "norm",
    "attribution",
    "prediction",
    "gradient_input",
    "leave_one_out",
    FollowedMap,
]
"""By what tokens of a text are ordered."""

REFERENCES: tuple[TokenMap, ...] = ("leave_one_out", "gradient_input")
"""Those that look at the prediction itself, with which all others are correlated."""


@dataclass(frozen=True, kw_only=True)
class MapFaithfulnessSettings(BootstrapSettings, TextSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        maps: by what tokens are ordered. Of the last layer, all heads together: ``weight``, the
            mean of the weights, and ``norm``, the length of what is moved. Of all layers:
            ``attribution``, how much a hidden token changes with an input token, which is slow;
            ``prediction``, what an input token adds to the logit in the linear network of the text;
            and what follows input tokens through the layers: ``rollout`` of weights, of norms
            (``rollout_norm``, ``rollout_block_norm``, ``rollout_layer_norm``), ``globenc``,
            ``alti``, ``value_zeroing`` and ``decompx``. Of the prediction itself:
            ``gradient_input``, the gradient of the probability times the embedding, and
            ``leave_one_out``, what the probability loses without the token. A random order stands
            beside them.
        removal: how tokens are removed: they become the ``mask`` token (the unknown one where there
            is no mask), are left out (``delete``), or cannot be attended to (``attention``). By
            default ``mask`` where the tokenizer has one, else ``delete``.
        rows: which row of a map speaks for the prediction: by default that of the token that
            predicts, and of a classifier the ``first`` of an encoder and the ``last`` of a decoder;
            ``mean`` is that of all.
        signed: correlate the values of gradients, of leaving one out and of predictions with their
            signs; by default their sizes, as attention has no sign.
        slope: of activations in the linear network of a prediction.
        attribution: how contributions are computed, if they are among the maps.
        random_orders: random orders of each text, over which the mean is taken.
        bootstrap: how often texts are resampled for the intervals; 0 for none.
        seed: of the resampling, of random orders, of which token a masked language model predicts,
            and of pairs.
    """

    maps: tuple[TokenMap, ...] = (
        "weight", "norm", "rollout", "rollout_norm", "globenc", "alti", "decompx",
        "prediction", "gradient_input", "leave_one_out",
    )  # fmt: skip
    removal: Removal | None = None
    rows: RowsOfText | None = None
    signed: bool = False
    slope: Slope = "zero_origin"
    attribution: AttributionSettings | None = None
    random_orders: AtLeast1 = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("maps", self.maps)

    @property
    def required_head(self) -> str:
        """Whatever predicts: a classifier or a language model."""
        return "any"

    @property
    def compared(self) -> tuple[str, ...]:
        """All maps, the random order last."""
        return (*self.maps, RANDOM)


STUDY = Study(
    name="map_faithfulness",
    title="which map names the tokens that a prediction rests on",
    question="which map of a text names the tokens without which a prediction changes",
    papers="DeYoung et al. 2020; Edin et al. 2025",
    reads="text",
    settings=MapFaithfulnessSettings,
    examples=(
        ("wiki/ --model ./smollm2 --max-length 48 --max-examples 50", "next tokens"),
        ("reviews.tsv --column text --model ./my-classifier", "predicted classes"),
    ),
    smallest={
        "maps": ["weight", "gradient_input", "leave_one_out"],
        "bootstrap": 2,
        "random_orders": 1,
        "max_length": 16,
        "max_examples": 4,
    },
    order=15,
    no_sentence="it removes many tokens at a time, and is not specific to heads",
)
