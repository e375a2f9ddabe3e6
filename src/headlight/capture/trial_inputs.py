"""Inputs made for a trial run of any model.

A model is tried on them one after the other until it takes an input.  What a model takes beside its
main input is read off the names of the arguments of its forward pass, and the width of its frames
or patches off the first layer that they meet.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headlight.errors import UnsupportedModelError

FAILURES = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)
"""Exceptions of a model that cannot take an input."""
ENCODER_LENGTH, DECODER_LENGTH = 7, 5
"""Numbers of tokens, which differ so that cross-attention shows itself by its shape."""

_BINS = ("input_feat_per_channel", "feature_projection_input_dim", "num_mel_bins")
"""Names in configurations of the number of features of a frame."""

_GRID = torch.tensor([[1, 4, 4]])


def dummy_inputs(model: Any) -> dict[str, Any]:
    """Return keyword arguments for one small forward pass of a text, vision or speech model.

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
    """Return pieces that differ, none of them padding."""
    size = getattr(config.get_text_config(), "vocab_size", 99)  # some take any character
    padding = getattr(config, "pad_token_id", None)
    ids = [piece for piece in range(size - 1, 0, -1) if piece != padding]
    return torch.tensor([ids[:length]])


def _pixels(config: Any) -> Tensor:
    size = getattr(config, "image_size", 64)  # some take any size
    height, width = size if isinstance(size, list | tuple) else (size, size)
    frames = [config.num_frames] if hasattr(config, "num_frames") else []  # a film
    return noise(1, *frames, getattr(config, "num_channels", 3), height, width)


def _patches(config: Any) -> Tensor:
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
    bins = next((getattr(config, name) for name in _BINS if hasattr(config, name)), 80)
    if _bins(config) == 1:
        return noise(1, bins, 2 * longest)
    return noise(1, min(64, longest), bins)


def _bins(config: Any) -> int:
    # Encoders of a fixed window, as Whisper's, have time last; where it may vary, bins are last.
    fixed = getattr(config, "max_source_positions", None)
    return 2 if not fixed or any(hasattr(config, name) for name in _BINS[:2]) else 1


def noise(*shape: int) -> Tensor:
    """Return random numbers, always the same."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


GRID = (4, 4)
"""Numbers of patches of a picture, down and across."""
FRAMES, FILM = 64, 2
"""Numbers of frames of sound, and of pictures of a film."""
REGIONS = 3
"""Number of parts of a picture that are given as vectors."""

PATCHES = GRID[0] * GRID[1]
_Makers = Mapping[str, Callable[[Any], Tensor]]


def trial_inputs(model: Any) -> Iterator[dict[str, Any]]:
    """Yield keyword arguments for a small forward pass, the most usual first.

    Raises:
        UnsupportedModelError: The model takes some other kind of input, and no other is known.
    """
    refusal = None
    try:
        usual = dummy_inputs(model)
        yield usual
    except UnsupportedModelError as problem:
        usual, refusal = {}, problem
    arguments = inspect.signature(model.forward).parameters
    needed = [
        name
        for name, parameter in arguments.items()
        if parameter.default is parameter.empty
        and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    main = _main(model, needed, list(arguments))
    accepted = False
    for trial in _give_main(model, main, usual):
        beside = {name for name in needed if name not in trial}
        if beside <= _BESIDE.keys():
            accepted = True
            yield trial | _make_beside(model, beside)
        more = {name for name in _WITH_MAIN if name in arguments} | beside
        if more - beside and beside <= _BESIDE.keys():
            yield trial | _make_beside(model, more - trial.keys())
    if refusal is not None and not accepted:
        raise refusal


def _main(model: Any, needed: list[str], arguments: list[str]) -> str:
    if isinstance(model.main_input_name, str) and model.main_input_name in arguments:
        return model.main_input_name
    return (needed or arguments)[0]


def _give_main(model: Any, main: str, usual: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield ways to give the main input."""
    if main in usual:
        yield dict(usual)
    rest = {name: value for name, value in usual.items() if not name.startswith(main)}
    for shape in _shapes(model, main):
        yield {main: _place_on_device(model, noise(*shape)), **rest}


def _shapes(model: Any, main: str) -> Iterator[tuple[int, ...]]:
    """Yield shapes of pictures, sound or vectors, by the first layer that meets them."""
    if main == "input_ids":
        return
    if main in _VECTORS:
        yield (1, ENCODER_LENGTH, _width(model.config))
        return
    first = next((m for m in model.modules() if isinstance(m, _FIRST)), None)
    length = PATCHES if main.startswith("pixel") else FRAMES
    if isinstance(first, nn.Linear):
        yield (1, length, first.in_features)
        yield (length, first.in_features)
    elif isinstance(first, nn.Conv1d):
        yield (1, first.in_channels, FRAMES)
        yield (1, first.in_channels, 8000)  # samples of a wave, of which strides leave few
    elif isinstance(first, nn.Conv2d):
        size = _size(model.config)
        yield (1, first.in_channels, size, size)
        yield (PATCHES, first.in_channels, *first.kernel_size)  # a patch each
        yield (1, first.in_channels, first.kernel_size[0], first.kernel_size[1] * PATCHES)
        yield (1, FRAMES, 128)  # a spectrogram, to which convolutions add the channel
        yield (1, FILM, first.in_channels, size, size)
    elif isinstance(first, nn.Conv3d):
        size, film = _size(model.config), FILM * first.kernel_size[0]
        yield (1, film, first.in_channels, size, size)
        yield (1, first.in_channels, film, size, size)


_FIRST = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_VECTORS = ("hidden_states", "query_embeds", "inputs_embeds", "noise_embeds")


def _width(config: Any) -> int:
    text = config.get_text_config()
    return int(getattr(text, "hidden_size", getattr(text, "d_model", 0)) or 1)


def _size(config: Any) -> int:
    size = getattr(config, "image_size", 64)
    return int(size[0] if isinstance(size, list | tuple) else size or 64)


def _places(_: Any) -> Tensor:
    down, across = torch.meshgrid(*map(torch.arange, GRID), indexing="ij")
    return torch.stack([across.flatten(), down.flatten()], -1)[None]


def _picture(config: Any) -> Tensor:
    return noise(1, getattr(config, "num_channels", 3), _size(config), _size(config))


_BESIDE: _Makers = {
    "bbox": lambda _: torch.arange(4).expand(1, ENCODER_LENGTH, 4).contiguous(),
    "pixel_values": _picture,
    "prompt_pixel_values": _picture,
    "prompt_masks": _picture,
    "visual_feats": lambda config: noise(1, REGIONS, config.visual_feat_dim),
    "visual_pos": lambda config: noise(1, REGIONS, config.visual_pos_dim),
    "pixel_position_ids": _places,
    "pixel_attention_mask": lambda _: torch.ones(1, PATCHES, dtype=torch.long),
    "input_features_mask": lambda _: torch.ones(1, FRAMES, dtype=torch.long),
    "padding_mask": lambda _: torch.ones(1, FRAMES, dtype=torch.long),
    "spatial_shapes": lambda _: torch.tensor([GRID]),
    "target_sizes": lambda _: torch.tensor([GRID]),
    "image_grid_thw": lambda _: torch.tensor([[1, *GRID]]),
    "grid_thw": lambda _: torch.tensor([[1, *GRID]]),
    "merge_sizes": lambda _: torch.tensor([1]),
    "encoder_hidden_states": lambda config: noise(1, ENCODER_LENGTH, _width(config)),
    "decoder_input_values": lambda config: noise(1, DECODER_LENGTH, config.num_mel_bins),
}
"""Arguments that a forward pass may need beside its main input."""

_WITH_MAIN = (
    "bbox",
    "pixel_values",
    "visual_feats",
    "visual_pos",
    "target_sizes",
    "decoder_input_values",
    "encoder_hidden_states",
)
"""Arguments that a model may turn out to need only as it runs."""


def _make_beside(model: Any, names: set[str]) -> dict[str, Tensor]:
    return {name: _place_on_device(model, _BESIDE[name](model.config)) for name in sorted(names)}


def _place_on_device(model: Any, tensor: Tensor) -> Tensor:
    tensor = tensor.to(model.device)
    return tensor.to(model.dtype) if tensor.is_floating_point() else tensor
