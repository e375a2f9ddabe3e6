"""Which layers a model has, as far as its configuration says, before its weights are loaded."""

from collections.abc import Collection
from typing import Any

from headlight.errors import UsageError

_DEPTHS = ("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers")
"""What architectures call the number of their layers, or of those of one half."""


def check_layers(config: Any, layers: Collection[int] | None, name: str) -> None:
    """Refuse layers that a model cannot have.

    A model whose configuration does not say how deep it is is left to others.

    Args:
        config: of the model.
        layers: those asked for; None for all.
        name: what the model is called.

    Raises:
        UsageError: there is no such layer.
    """
    if not layers:
        return
    depth = max(_depths(config), default=0)
    missing = sorted(layer for layer in layers if not 0 <= layer < depth)
    if depth and missing:
        raise UsageError(f"{name} has no layer {missing[0]}: its layers are 0 to {depth - 1}.")


def _depths(config: Any) -> list[int]:
    found = (
        getattr(each, name, None) for each in (config, config.get_text_config()) for name in _DEPTHS
    )
    return [depth for depth in found if isinstance(depth, int)]
