"""The smallest inputs on which a model can be traced."""

import inspect
from typing import Any

import torch
from torch import Tensor

from headlight.errors import UnsupportedModelError

ENCODER_LENGTH, DECODER_LENGTH = 7, 5
"""Different, so that cross-attention shows itself by its shape."""

_BINS = ("input_feat_per_channel", "feature_projection_input_dim", "num_mel_bins")
"""What configurations call the number of features of a frame."""

_GRID = torch.tensor([[1, 4, 4]])


def dummy_inputs(model: Any) -> dict[str, Any]:
    """Keyword arguments for one small forward pass of a text, vision or speech model.

    Raises:
        UnsupportedModelError: the model takes some other kind of input.
    """
    arguments = inspect.signature(model.forward).parameters
    name = model.main_input_name
    if not isinstance(name, str):  # several: a picture first, and what is asked of it
        name = name[0]
    if name == "input_ids" and name not in arguments:  # towers within a model often leave it unsaid
        name = next(iter(arguments))
    if "grid_thw" in arguments:
        patches = _patches(model.config).to(model.device, model.dtype)
        return {next(iter(arguments)): patches, "grid_thw": _GRID.to(model.device)}
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
    if (mask := f"{name}_mask") in arguments and inputs[name].ndim == 3:  # of a spectrogram
        inputs[mask] = torch.ones_like(inputs[name].amax(_bins(model.config)), dtype=torch.long)
    if model.config.is_encoder_decoder and "decoder_input_ids" in arguments:
        inputs["decoder_input_ids"] = _distinct(model.config, DECODER_LENGTH).to(model.device)
    # A cache would copy the values out of the linear map that made them.
    caches = getattr(model.config, "use_cache", False) and "use_cache" in arguments
    return inputs | ({"use_cache": False} if caches else {})


def _ids(config: Any) -> Tensor:
    return _distinct(config, ENCODER_LENGTH)


def _distinct(config: Any, length: int) -> Tensor:
    """Pieces that differ, none of them padding."""
    size = getattr(config.get_text_config(), "vocab_size", 99)  # some take any character
    padding = getattr(config, "pad_token_id", None)
    ids = [piece for piece in range(size - 1, 0, -1) if piece != padding]
    return torch.tensor([ids[:length]])


def _pixels(config: Any) -> Tensor:
    size = getattr(config, "image_size", 64)  # some take any
    height, width = size if isinstance(size, list | tuple) else (size, size)
    frames = [config.num_frames] if hasattr(config, "num_frames") else []  # a film
    return noise(1, *frames, getattr(config, "num_channels", 3), height, width)


def _patches(config: Any) -> Tensor:
    """The patches of one picture, each a row of numbers."""
    channels = getattr(config, "in_channels", getattr(config, "in_chans", 3))
    frames = getattr(config, "temporal_patch_size", 1)
    return noise(int(_GRID.prod()), channels * frames * config.patch_size**2)


def _wave(config: Any) -> Tensor:
    if hasattr(config, "num_mel_bins") and hasattr(
        config, "max_length"
    ):  # a spectrogram, though it has the name of a wave
        return noise(1, config.max_length, config.num_mel_bins)
    return noise(1, 8000)


def _features(config: Any) -> Tensor:
    longest = getattr(config, "max_source_positions", 64)
    bins = next((getattr(config, each) for each in _BINS if hasattr(config, each)), 80)
    if _bins(config) == 1:
        return noise(1, bins, 2 * longest)
    return noise(1, min(64, longest), bins)


def _bins(config: Any) -> int:
    """Return the axis of a spectrogram that is not time: the last where its length may vary."""
    fixed = getattr(config, "max_source_positions", None)
    return 2 if not fixed or any(hasattr(config, each) for each in _BINS[:2]) else 1


def noise(*shape: int) -> Tensor:
    """Random numbers, always the same."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))
