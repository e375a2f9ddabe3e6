"""Settings of flow and of attribution; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from headlight.settings import UNLISTED, AtLeast1, Range, Settings

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


Embeddings = Literal["sum", "output"]
"""Vector of an input token: the sum of its embeddings, or the input of the first block."""

MatrixPrecision = Literal["highest", "medium"]
"""Precision of float32 matrix products, as `torch.set_float32_matmul_precision` names it."""


@dataclass(frozen=True, kw_only=True)
class AttributionSettings(Settings):
    """Settings of how contributions are computed.

    Attributes:
        method: ``exact``, or ``estimate`` from random directions with standard errors.
        directions: random directions of the estimate, for every input token; at least two, for the
            standard error.
        seed: random seed of the directions.
        embeddings: input embeddings x_i: the ``sum`` of token, segment and position embeddings, or
            the ``output`` of all embedding layers, which is the input of the first block.
        precision: precision of matrix products in estimates: ``highest`` is that of the model;
            ``medium`` may multiply in bfloat16 and add in float32, where that is faster; its effect
            is small beside the error of an estimate.
        memory: bytes that tangents may take, and matrices of tokens, which save time where they fit
            into half of it.
    """

    method: Literal["exact", "estimate"] = "estimate"
    directions: Annotated[int, Range(minimum=2)] = 16
    seed: Annotated[int, UNLISTED] = 0
    embeddings: Annotated[Embeddings, UNLISTED] = "sum"
    precision: Annotated[MatrixPrecision, UNLISTED] = "highest"
    memory: Annotated[AtLeast1, UNLISTED] = 2**30


Slope = Literal["zero_origin", "chord", "derivative"]
"""Slope of an activation that is made linear.

``zero_origin``
    act(x) / x: the line through the origin (DecompX, Modarressi et al. 2023, Section 2).
``chord``
    (act(x) - act(b)) / (x - b), with b the bias of the linear map before: the integrated gradients
    from b to x in closed form (Kobayashi et al. 2024).
``derivative``
    act'(x): the tangent.
"""
