"""Methods that attribute hidden tokens to input tokens; without torch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

LayerMapName = Literal[
    "weight", "merged_norm", "block_norm", "layer_norm", "encoder_norm", "alti", "value_zeroing"
]
"""Map of a layer: a number for each query and key, all heads together."""

FollowedMap = Literal[
    "rollout",
    "rollout_norm",
    "rollout_block_norm",
    "rollout_layer_norm",
    "globenc",
    "alti",
    "value_zeroing",
    "decompx",
]
"""Method that follows input tokens through the layers, without derivatives of the model."""

MethodName = Literal[FollowedMap, "attribution", "gradient_hidden"]
"""Name of a row of `METHODS`: a method that follows tokens, or one of two derivatives."""

FlowName = Literal[MethodName, "mixing", "mixing_feed_forward"]
"""Name of a method, or of mixing ratios: the share of other tokens in a token, layer by layer."""


@dataclass(frozen=True)
class Method:
    """Method that attributes hidden tokens to input tokens.

    Attributes:
        label: Name in titles.
        papers: Papers that define it.
        layer_map: Map of a layer, whose product over layers it is; None if it follows tokens
            through all layers at once.
        residual: Share of a token in itself that is added to each map, after its rows are scaled to
            sum to 1; 0 for maps that include the residual connection.
    """

    label: str
    papers: str
    layer_map: LayerMapName | None = None
    residual: float = 0.0


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "rollout": Method("rollout", "Abnar and Zuidema 2020", "weight", 0.5),
        "rollout_norm": Method(
            "rollout of norms", "Kobayashi et al. 2020, Abnar and Zuidema 2020", "merged_norm", 0.5
        ),
        "rollout_block_norm": Method(
            "rollout of block_norm", "Kobayashi et al. 2021", "block_norm"
        ),
        "rollout_layer_norm": Method(
            "rollout of layer_norm", "Kobayashi et al. 2021", "layer_norm"
        ),
        "globenc": Method("GlobEnc", "Modarressi et al. 2022", "encoder_norm"),
        "alti": Method("ALTI", "Ferrando et al. 2022", "alti"),
        "value_zeroing": Method("Value Zeroing", "Mohebbi et al. 2023", "value_zeroing"),
        "decompx": Method("DecompX", "Modarressi et al. 2023"),
        "attribution": Method("hidden token attribution", "Brunner et al. 2020"),
        "gradient_hidden": Method("gradient × first hidden state", "Modarressi et al. 2022"),
    }
)

FOREMOST: tuple[MethodName, ...] = ("decompx", "alti")
"""Methods that a title is about, the first that there is: that whose order of tokens is closest to
that of leaving them out, and one that is not told from it and takes one pass."""


def foremost(methods: Iterable[str]) -> str:
    """Return the method of these that a title is about; the first where none of `FOREMOST` is."""
    names = list(methods)
    return next((name for name in FOREMOST if name in names), names[0])
