"""Tokens followed through the layers of a model: maps of layers, rollout, flow, attribution."""

__all__ = [
    "attention_flow",
    "followed_text",
    "hidden_token_attribution",
    "input_maps",
    "layer_maps",
    "rollout",
    "value_zeroing",
]
