"""Files that a model is loaded from: GGUF, weights, or their differences from others.

A model may be kept as what differs from the embedded one.

A matrix W that training changed is W + U V, of which the file holds the narrow matrices ``W.up``
(U) and ``W.down`` (V) in place of the whole; other tensors are in it as they are.
"""

from pathlib import Path
from typing import Any

from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor
from transformers import GgufConfig
from transformers.integrations.gguf.reader import read_gguf_metadata
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from headlight.catalogue.model_folders import EMBEDDED, gguf_of

CHANGED = "changed.safetensors"
"""The file of what differs."""
UP, DOWN = ".up", ".down"
_WHOLE = "model.safetensors"


def is_changed(place: str) -> bool:
    """Whether a folder holds only what differs from the embedded model."""
    return (Path(place) / CHANGED).is_file()


def weights_of(place: str) -> tuple[str | None, dict[str, Any]]:
    """Return the place that transformers loads weights from: a folder or a name, or the tensors.

    Raises:
        SafetensorError: a file is damaged.
    """
    if not is_changed(place):
        return place, {}
    changes = load_file(Path(place) / CHANGED)
    return None, {"state_dict": with_changes(load_file(EMBEDDED / _WHOLE), changes)}


def with_changes(
    base: dict[str, Float[Tensor, "..."]], changes: dict[str, Float[Tensor, "..."]]
) -> dict[str, Float[Tensor, "..."]]:
    """All tensors of the model that training made of another.

    Args:
        base: the tensors of the other model.
        changes: what differs, by the names that the head of this module says.
    """
    tensors = dict(base)
    for name, each in changes.items():
        if name.endswith(UP):
            whole = name.removesuffix(UP)
            tensors[whole] = base[whole].float() + each.float() @ changes[whole + DOWN].float()
        elif not name.endswith(DOWN):
            tensors[name] = each
    return tensors


def tokenizer_place(place: str) -> str:
    """Return the place of a model's tokenizer: that of the embedded one is unchanged."""
    return str(EMBEDDED) if is_changed(place) else place


def files_of_weights(place: str) -> list[Path]:
    """The files in a folder that hold the weights of a model; none of a name on the hub."""
    base = [EMBEDDED / _WHOLE] if is_changed(place) else []
    return base + sorted(Path(place).glob("*.safetensors"))


UNKNOWN = "unknown"
_FILE_TYPE = "general.file_type"
_NOT_ROUNDED = "ALL_F32"


def files_of(place: str) -> tuple[str, dict[str, str]]:
    """Return what transformers loads: a folder or a name, and the GGUF file if it is one."""
    path = gguf_of(place)
    return (str(path.parent), {"gguf_file": path.name}) if path else (place, {})


def quantisation_of(place: str) -> str:
    """Return the format that most weights were rounded to, such as ``Q4_1``; empty if none."""
    path = gguf_of(place)
    if path is None:
        return ""
    from gguf import LlamaFileType  # not installed everywhere

    metadata, _ = read_gguf_metadata(str(path))
    kinds = {int(each): each.name for each in LlamaFileType}
    name = kinds.get(metadata.get(_FILE_TYPE, -1), UNKNOWN)
    return "" if name == _NOT_ROUNDED else name.removeprefix("MOSTLY_")


def unpacked(config: Any) -> dict[str, Any]:
    """Return the options that load weights as numbers, for norms and gradients.

    The configuration of a file does not say which head is in it; that of a decoder is.
    """
    if not config.architectures and config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        config.architectures = [MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]]
    return {"quantization_config": GgufConfig(dequantize=True)}


_DEPTHS = ("num_hidden_layers", "num_layers", "encoder_layers", "decoder_layers")
"""What architectures call the number of their layers, or of those of one half."""


def depth_of(config: Any) -> int:
    """The number of layers, of two halves that of the larger; 0 if the configuration is silent."""
    depths = (
        getattr(each, name, None) for each in (config, config.get_text_config()) for name in _DEPTHS
    )
    return max((depth for depth in depths if isinstance(depth, int)), default=0)
