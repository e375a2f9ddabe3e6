"""Checks of the name, device and precision of a model, before anything slow is imported.

`headlight.capture.load_model` applies the same rules; commands check here first, without torch.
"""

from collections.abc import Collection
from pathlib import Path

from huggingface_hub import constants as hub

from headlight.catalogue.embedded_models import EMBEDDED_NAME, place_of
from headlight.catalogue.hub import HUB_NAME, cached_models, hub_answers, no_model
from headlight.catalogue.model_configuration import (
    HEAD_NUMBERS,
    LAYER_NUMBERS,
    check_heads,
    check_layers,
    number_in_all_parts,
    read_configuration,
)
from headlight.catalogue.model_folders import GGUF, check_folder, gguf_of, holds_file, why_no_model
from headlight.errors import ModelError, UsageError, setting
from headlight.files import check_reachable
from headlight.settings import require_choice

DTYPES = ("float32", "bfloat16", "float16", "float64")
AUTO = "auto"
BALANCED = "balanced"
"""Device of models that are spread over several devices, layer by layer."""
DEVICES = ("cpu", "cuda", "mps", "xpu", "xla", "hpu", "npu", "mtia")
"""Types of devices that torch knows; whether one exists is known only after its import."""

_TOKENIZER = ("tokenizer*", "*.model", "vocab.*", "*vocab.json", f"*{GGUF}")
"""Patterns of tokenizer files; the tokenizer of a GGUF model lies in its file."""


def check_model(
    model: str | None,
    *,
    tokenizer: str | None = None,
    device: str = AUTO,
    dtype: str = DTYPES[0],
    layers: Collection[int] | None = None,
    heads: Collection[int] | None = None,
) -> None:
    """Refuse arguments that cannot load a model, as far as that is known without torch.

    Args:
        model: Name on the hub, or folder; None for the embedded model.
        tokenizer: Name on the hub, or folder; None for that of the model.
        device: Device that the model is to be loaded on.
        dtype: Precision of the weights.
        layers: Layers to observe; None for all.
        heads: Heads of a layer to observe; None for all.

    Raises:
        ModelError: there is no such model or tokenizer.
        UsageError: there is no such precision, device, layer or head, or a name is empty.
    """
    for name, value in (("model", model), ("tokenizer", tokenizer)):
        if value == "":
            raise UsageError(f"{setting(name)} is empty; give a name or a folder, or leave it out.")
    require_choice("precision", dtype, DTYPES)
    kind = device.partition(":")[0]
    if kind not in DEVICES and device not in (AUTO, BALANCED):
        raise UsageError(
            f"there is no device {device!r} here; use cpu, cuda, mps, auto or balanced."
        )
    place = place_of(model)
    check_place(place)
    config, label = read_configuration(place), model or EMBEDDED_NAME
    check_layers(number_in_all_parts(config, LAYER_NUMBERS), layers, label)
    check_heads(number_in_all_parts(config, HEAD_NUMBERS), heads, label)
    if tokenizer is not None:
        _check_tokenizer(tokenizer)


def check_place(place: str) -> None:
    """Refuse a place that is no GGUF file, no folder of a model, and no possible name on the hub.

    Args:
        place: Path or name.

    Raises:
        ModelError: the place is none of these.
        UsageError: a library for its format is missing.
    """
    if gguf_of(place):
        return
    folder = Path(place)
    if folder.exists():
        if (sentence := why_no_model(place)) is not None:
            raise ModelError(sentence)
        check_folder(folder)
        return
    if not HUB_NAME.fullmatch(place):
        raise ModelError(f"there is no folder {place!r}, and no model of a hub has such a name.")
    if place in cached_models():
        return
    if hub.HF_HUB_OFFLINE:
        raise no_model(
            place,
            "HF_HUB_OFFLINE keeps it from being fetched; correct the name, or unset that variable",
        )
    if not hub_answers():
        raise no_model(place, f"{hub.ENDPOINT} does not answer; correct the name, or go online")


def _check_tokenizer(place: str) -> None:
    """Refuse a place that is neither a folder with a tokenizer, nor a possible name on the hub.

    Raises:
        ModelError: the place is neither.
    """
    folder = check_reachable(Path(place), error=ModelError)
    check_folder(folder)
    cached = Path(hub.HF_HUB_CACHE) / f"models--{place.replace('/', '--')}"
    possible = HUB_NAME.fullmatch(place) and (cached.exists() or not hub.HF_HUB_OFFLINE)
    if not (holds_file(folder, _TOKENIZER) if folder.exists() else possible):
        raise ModelError(f"there is no tokenizer in {place}; give a name on the hub, or a folder.")
