"""From the input to hidden tokens: products of maps of layers, and derivatives through all."""

from headlight.analysis.flow.input_maps import input_maps
from headlight.analysis.flow.layer_maps import LAYER_MAPS, layer_maps
from headlight.analysis.flow.rollout import attention_flow, rollout, shares
from headlight.settings.flow import METHODS, Method

__all__ = [
    "LAYER_MAPS",
    "METHODS",
    "Method",
    "attention_flow",
    "input_maps",
    "layer_maps",
    "rollout",
    "shares",
]
