"""The smallest inputs on which a model can be traced."""

from typing import Any

import torch
from torch import Tensor

from headlight.errors import UnsupportedModelError

ENCODER_LENGTH, DECODER_LENGTH = 7, 5
"""Different, so that cross-attention shows itself by its shape."""


def probe_inputs(model: Any) -> dict[str, Any]:
    """Keyword arguments for one small forward pass of a text, vision or speech model.

    Raises:
        UnsupportedModelError: the model takes some other kind of input.
    """
    name = model.main_input_name
    makers = {
        "input_ids": _ids,
        "pixel_values": _pixels,
        "input_values": _wave,
        "input_features": _features,
    }
    if name not in makers:
        raise UnsupportedModelError(
            f"{type(model).__name__} takes {name!r}, for which no trial input is known; trace it "
            "with inputs of your own."
        )
    inputs = {name: makers[name](model.config).to(model.device)}
    if name in ("pixel_values", "input_values", "input_features"):
        inputs[name] = inputs[name].to(model.dtype)
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = _distinct(model.config, DECODER_LENGTH).to(model.device)
    # A cache would copy the values out of the linear map that made them.
    options = {"use_cache": False} if getattr(model.config, "use_cache", False) else {}
    return inputs | options


def _ids(config: Any) -> Tensor:
    return _distinct(config, ENCODER_LENGTH)


def _distinct(config: Any, length: int) -> Tensor:
    """Pieces that differ, none of them padding."""
    size = config.get_text_config().vocab_size
    padding = getattr(config, "pad_token_id", None)
    ids = [piece for piece in range(size - 1, 0, -1) if piece != padding]
    return torch.tensor([ids[:length]])


def _pixels(config: Any) -> Tensor:
    size = config.image_size
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return _noise(1, getattr(config, "num_channels", 3), height, width)


def _wave(_: Any) -> Tensor:
    return _noise(1, 8000)


def _features(config: Any) -> Tensor:
    return _noise(1, config.num_mel_bins, 2 * config.max_source_positions)


def _noise(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))
