"""The smallest inputs on which a model can be traced."""

import inspect
from typing import Any

import torch
from torch import Tensor

from headlight.errors import UnsupportedModelError

ENCODER_LENGTH, DECODER_LENGTH = 7, 5
"""Different, so that cross-attention shows itself by its shape."""


def dummy_inputs(model: Any) -> dict[str, Any]:
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
    arguments = inspect.signature(model.forward).parameters
    if model.config.is_encoder_decoder and "decoder_input_ids" in arguments:
        inputs["decoder_input_ids"] = _distinct(model.config, DECODER_LENGTH).to(model.device)
    # A cache would copy the values out of the linear map that made them.
    caches = getattr(model.config, "use_cache", False) and "use_cache" in arguments
    return inputs | ({"use_cache": False} if caches else {})


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
    frames = [config.num_frames] if hasattr(config, "num_frames") else []  # a film
    return _noise(1, *frames, getattr(config, "num_channels", 3), height, width)


def _wave(config: Any) -> Tensor:
    if hasattr(config, "num_mel_bins"):  # a spectrogram, though it has the name of a wave
        return _noise(1, config.max_length, config.num_mel_bins)
    return _noise(1, 8000)


def _features(config: Any) -> Tensor:
    if hasattr(config, "input_feat_per_channel"):  # of any length, time first
        return _noise(1, min(64, config.max_source_positions), config.input_feat_per_channel)
    return _noise(1, config.num_mel_bins, 2 * config.max_source_positions)


def _noise(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))
