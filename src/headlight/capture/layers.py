"""Which layers a model has, as far as its configuration says, before its weights are loaded."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from headlight.capture.loading import EMBEDDED
from headlight.errors import UsageError

_DEPTHS = ("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers")
"""What architectures call the number of their layers, or of those of one half."""


def check_layers(
    model: str | Path | None,
    layers: Iterable[int] | None,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> None:
    """Refuse layers that a model cannot have; loading its weights may take minutes.

    A model whose configuration cannot be read, or does not say how deep it is, is left to others.

    Args:
        model: see `headlight.capture.load_model`.
        layers: those asked for; None for all.
        revision: branch, tag or commit on the hub.
        trust_remote_code: run code that comes with the model.

    Raises:
        UsageError: there is no such layer.
    """
    if not layers:
        return
    source = str(EMBEDDED if model is None else model)
    try:
        config = AutoConfig.from_pretrained(
            source, revision=revision, trust_remote_code=trust_remote_code
        )
    except Exception:  # noqa: BLE001 - whoever loads the model says what is wrong with it
        return
    depth = max(_depths(config), default=0)
    missing = sorted(layer for layer in layers if not 0 <= layer < depth)
    if depth and missing:
        raise UsageError(
            f"{model or 'the embedded model'} has no layer {missing[0]}: its layers are 0 to "
            f"{depth - 1}."
        )


def _depths(config: Any) -> list[int]:
    found = (
        getattr(each, name, None) for each in (config, config.get_text_config()) for name in _DEPTHS
    )
    return [depth for depth in found if isinstance(depth, int)]
