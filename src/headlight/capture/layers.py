"""How many layers a model has, as far as its configuration says, before its weights are loaded."""

from typing import Any

_DEPTHS = ("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers")
"""What architectures call the number of their layers, or of those of one half."""


def depth_of(config: Any) -> int:
    """The number of layers, of two halves that of the larger; 0 if the configuration is silent."""
    found = (
        getattr(each, name, None) for each in (config, config.get_text_config()) for name in _DEPTHS
    )
    return max((depth for depth in found if isinstance(depth, int)), default=0)
