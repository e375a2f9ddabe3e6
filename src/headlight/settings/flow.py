"""Methods by which the share of an input token in a hidden token is found; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

LayerMapName = Literal[
    "weight", "merged_norm", "block_norm", "layer_norm", "encoder_norm", "alti", "value_zeroing"
]
"""A number for each query and key of one layer, all heads together."""

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
"""The share of an input token in a hidden token, by what layers do with vectors and weights."""

MethodName = Literal[FollowedMap, "attribution", "gradient_hidden"]
"""Name of one of `METHODS`: a followed map, or one of two derivatives."""

FlowName = Literal[MethodName, "mixing", "mixing_feed_forward"]
"""Name of a method, or of mixing ratios: the share of others in a token, in each single layer."""


@dataclass(frozen=True)
class Method:
    """Method to find the share of an input token in a hidden token.

    Attributes:
        label: what it is called.
        papers: where it comes from.
        layer_map: the map of one layer, of which it is the product over layers; None where it
            follows tokens through all layers at once.
        residual: the share of a token in itself that is added to each map; with a residual, rows of
            the maps are made to sum to 1 first.
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
