"""Sizes of models: layers of a configuration, compared with what its files of weights hold."""

import copy
from typing import Any

import torch
from transformers.initialization import no_init_weights

from headlight.capture.changed_weights import files_of_weights
from headlight.catalogue.model_folders import gguf_of
from headlight.errors import ModelError

_DEPTHS = ("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers")
"""Names, in configurations, of the number of layers of a model or of one half of it."""


def depth_of(config: Any) -> int:
    """Return the number of layers, of the larger half if two; 0 if the configuration is silent."""
    depths = (
        getattr(part, name, None) for part in (config, config.get_text_config()) for name in _DEPTHS
    )
    return max((depth for depth in depths if isinstance(depth, int)), default=0)


_SMALLEST_LAYER = 64
"""Bytes of the weights of a layer, which may share most of them with others."""
_ANY_WEIGHTS = 1 << 16
"""Bytes that weights may lack: if they are damaged, loading says better what is wrong."""
_ANY_SIZE = 1 << 28
"""Numbers that a model may have, whatever its weights."""
_ELEMENTS_IN_A_BYTE = 4
"""Number of elements in a byte of the weights that are rounded most."""


def check_sizes(source: str, loader: Any, config: Any, options: dict[str, Any]) -> None:
    """Refuse a configuration of more numbers than the files of weights hold, to save memory.

    Args:
        source: Folder, file, or name on the hub.
        loader: Class of transformers that loads the model.
        config: Configuration of the model.
        options: Options of loading.

    Raises:
        ModelError: the configuration is of more.
    """
    packed = gguf_of(source)
    weights = [packed] if packed else files_of_weights(source)
    if not weights:  # the weights are on the hub
        return
    size = sum(path.stat().st_size for path in weights)
    depth = depth_of(config)
    if depth * _SMALLEST_LAYER > max(size, _ANY_WEIGHTS):
        raise ModelError(
            f"the configuration in {source} says that it has {depth:,} layers, of which "
            f"{size:,} bytes of weights hold nothing; copy the model again."
        )
    try:
        with no_init_weights(), torch.device("meta"):  # shapes without memory
            trust = options["trust_remote_code"]
            model = loader.from_config(copy.deepcopy(config), trust_remote_code=trust)
    except Exception:  # noqa: BLE001 - loading says better what is wrong
        return
    elements = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if elements > max(_ANY_SIZE, _ELEMENTS_IN_A_BYTE * size):
        raise ModelError(
            f"the configuration in {source} does not fit its weights: it is of {elements:,} "
            f"numbers, and they have {size:,} bytes; copy the model again."
        )
