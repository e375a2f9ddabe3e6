"""Configuration of a model: its numbers of layers and heads, and its quantisation."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from headlight.errors import ModelError, UsageError
from headlight.files import read_json

CONFIG = "config.json"

MOST_LAYERS = 10_000
"""Maximum number of layers of a plausible model; a damaged number would fill the memory."""

LAYER_NUMBERS = (
    "num_hidden_layers",
    "num_layers",
    "n_layer",
    "n_layers",
    "encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
)
"""Names in configuration files of the number of layers, or of those of one half."""
HEAD_NUMBERS = (
    "num_attention_heads",
    "num_heads",
    "n_head",
    "n_heads",
    "encoder_attention_heads",
    "decoder_attention_heads",
)
"""Names of the number of heads of a layer, or of those of one half."""


def check_layers(depth: int, layers: Collection[int] | None, name: str) -> None:
    """Refuse layers that a model does not have.

    Args:
        depth: Number of its layers; 0 if unknown, so that nothing is refused.
        layers: Requested layers; None for all.
        name: Name of the model, for messages.

    Raises:
        ModelError: the number of layers is implausible.
        UsageError: the model has no such layer.
    """
    if depth > MOST_LAYERS:
        raise ModelError(
            f"the configuration of {name} says that it has {depth:,} layers, which no model has; "
            "copy it again."
        )
    missing = sorted(layer for layer in layers or () if not 0 <= layer < depth)
    if depth and missing:
        raise UsageError(f"{name} has no layer {missing[0]}: its layers are 0 to {depth - 1}.")


def check_heads(count: int, heads: Collection[int] | None, name: str) -> None:
    """Refuse heads that no layer of a model has.

    Args:
        count: Number of heads of a layer; 0 if unknown, so that nothing is refused.
        heads: Requested heads; None for all.
        name: Name of the model, for messages.

    Raises:
        UsageError: no layer has such a head.
    """
    missing = sorted(head for head in heads or () if not 0 <= head < count)
    if count and missing:
        raise UsageError(
            f"the layers of {name} have no head {missing[0]}: their heads are 0 to {count - 1}."
        )


def quantised_by(place: str) -> str | None:
    """Return the method by which the weights in a folder were quantised; None where they are not.

    Args:
        place: Folder of the model, or a name, for which the method is None.
    """
    settings = read_configuration(place).get("quantization_config")
    return str(settings.get("quant_method", "")) if isinstance(settings, dict) else None


def read_configuration(place: str) -> Mapping[str, Any]:
    """Return the configuration in a folder; empty if there is none, or it cannot be read."""
    try:
        config = read_json(Path(place) / CONFIG, refuse_links=False, error=ModelError)
    except (ModelError, ValueError):
        return {}  # loading refuses it with a better sentence
    return config if isinstance(config, dict) else {}


def number_of_layers(config: Mapping[str, Any]) -> int:
    """Return the number of layers of a model, or of its deeper half; 0 if unknown."""
    return max(numbers_in_parts(config, *LAYER_NUMBERS), default=0)


def number_in_all_parts(config: Mapping[str, Any], names: Collection[str]) -> int:
    """Return the largest number under some names; 0 if a part of the model has none of them."""
    # Each part numbers layers and heads by itself. If one names no number, the largest of the
    # others is no limit, and would refuse layers that the model has.
    parts = [part for part in config.values() if isinstance(part, dict) and "model_type" in part]
    if not all(any(isinstance(part.get(name), int) for name in names) for part in parts):
        return 0
    return max(numbers_in_parts(config, *names), default=0)


def numbers_in_parts(config: Mapping[str, Any], *names: str) -> Iterator[int]:
    """Yield the whole numbers under some names, of the model and of its parts."""
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        yield from (part[name] for name in names if isinstance(part.get(name), int))
