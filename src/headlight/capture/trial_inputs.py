"""Inputs on which a model may be traced, one after the other until there is one that it takes.

What a model takes beside its main input is read off the names of the arguments of its forward
pass, and how wide its frames or patches are off the first layer that they meet.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headlight.capture.dummy_inputs import (
    DECODER_LENGTH,
    ENCODER_LENGTH,
    dummy_inputs,
    noise,
)
from headlight.errors import UnsupportedModelError

GRID = (4, 4)
"""Patches of a picture, down and across."""
FRAMES, FILM = 64, 2
"""Frames of sound, and pictures of a film."""
REGIONS = 3
"""Parts of a picture that are given as vectors."""

PATCHES = GRID[0] * GRID[1]
_Makers = Mapping[str, Callable[[Any], Tensor]]


def trial_inputs(model: Any) -> Iterator[dict[str, Any]]:
    """Keyword arguments for a small forward pass, the most usual first.

    Raises:
        UnsupportedModelError: It takes some other kind of input, and no other is known.
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
        for name, each in arguments.items()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    main = _main(model, needed, list(arguments))
    found = False
    for given in _given(model, main, usual):
        beside = {name for name in needed if name not in given}
        if beside <= _BESIDE.keys():
            found = True
            yield given | _made(model, beside)
        more = {name for name in _WITH_MAIN if name in arguments} | beside
        if more - beside and beside <= _BESIDE.keys():
            yield given | _made(model, more - given.keys())
    if refusal is not None and not found:
        raise refusal


def _main(model: Any, needed: list[str], arguments: list[str]) -> str:
    """The argument that the text, the picture or the sound goes to."""
    if isinstance(model.main_input_name, str) and model.main_input_name in arguments:
        return model.main_input_name
    return (needed or arguments)[0]


def _given(model: Any, main: str, usual: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Ways to give the main input."""
    if main in usual:
        yield dict(usual)
    rest = {name: each for name, each in usual.items() if not name.startswith(main)}
    for shape in _shapes(model, main):
        yield {main: _placed(model, noise(*shape)), **rest}


def _shapes(model: Any, main: str) -> Iterator[tuple[int, ...]]:
    """Shapes of pictures, sound or vectors, by the first layer that meets them."""
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
        yield (1, first.in_channels, 8000)
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
    """The size of hidden states."""
    text = config.get_text_config()
    return int(getattr(text, "hidden_size", getattr(text, "d_model", 0)) or 1)


def _size(config: Any) -> int:
    size = getattr(config, "image_size", 64)
    return int(size[0] if isinstance(size, list | tuple) else size or 64)


def _places(_: Any) -> Tensor:
    """Row and column of every patch."""
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

_WITH_MAIN = ("bbox", "pixel_values", "visual_feats", "visual_pos", "target_sizes",
              "decoder_input_values", "encoder_hidden_states")  # fmt: skip
"""Those of which a model may say only as it runs that it cannot do without them."""


def _made(model: Any, names: set[str]) -> dict[str, Tensor]:
    return {name: _placed(model, _BESIDE[name](model.config)) for name in sorted(names)}


def _placed(model: Any, given: Tensor) -> Tensor:
    """Move a tensor to the model's device; vectors to its precision as well."""
    given = given.to(model.device)
    return given.to(model.dtype) if given.is_floating_point() else given
