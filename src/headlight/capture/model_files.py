"""Files that a model is loaded from: GGUF, weights, their sizes, digests and differences.

A model may be kept as what differs from the embedded one.

A matrix W that training changed is W + U V, of which the file holds the narrow matrices ``W.up``
(U) and ``W.down`` (V) in place of the whole; other tensors are in it as they are.
"""

import copy
import hashlib
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import GgufConfig
from transformers.initialization import no_init_weights
from transformers.integrations.gguf.reader import read_gguf_metadata
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from headlight.capture.attention import digest_of_weights, shortened
from headlight.catalogue.model_folders import EMBEDDED, gguf_of
from headlight.errors import ModelError
from headlight.files import open_file

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
"""Names in configurations of the number of layers, or of those of one half."""


def depth_of(config: Any) -> int:
    """The number of layers, of two halves that of the larger; 0 if the configuration is silent."""
    depths = (
        getattr(each, name, None) for each in (config, config.get_text_config()) for name in _DEPTHS
    )
    return max((depth for depth in depths if isinstance(depth, int)), default=0)


_READ_AT_ONCE = 1 << 22
_SMALLEST_LAYER = 64
"""Bytes of the weights of a layer, which may share most of them with others."""
_ANY_WEIGHTS = 1 << 16
"""Bytes that weights may lack: of damaged ones loading says better what is wrong."""
_ANY_SIZE = 1 << 28
"""Numbers that a model may have, whatever its weights."""
_ELEMENTS_IN_A_BYTE = 4
"""Number of elements in a byte of the weights that are rounded most."""


def check_sizes(source: str, loader: Any, config: Any, options: dict[str, Any]) -> None:
    """Refuse a configuration of more than the files of weights hold, before it takes memory.

    Args:
        source: a folder, a file, or a name on the hub.
        loader: the class of transformers that loads it.
        config: its configuration.
        options: of loading.

    Raises:
        ModelError: it is of more.
    """
    packed = gguf_of(source)
    weights = [packed] if packed else files_of_weights(source)
    if not weights:  # they are on the hub
        return
    size = sum(path.stat().st_size for path in weights)
    depth = depth_of(config)
    if depth * _SMALLEST_LAYER > max(size, _ANY_WEIGHTS):
        raise ModelError(
            f"the configuration in {source} says that it has {depth:,} layers, of which "
            f"{size:,} bytes of weights hold nothing; copy the model again."
        )
    try:
        with no_init_weights(), torch.device("meta"):
            trust = options["trust_remote_code"]
            model = loader.from_config(copy.deepcopy(config), trust_remote_code=trust)
    except Exception:  # noqa: BLE001 - loading says better what is wrong
        return
    elements = sum(each.numel() for each in (*model.parameters(), *model.buffers()))
    if elements > max(_ANY_SIZE, _ELEMENTS_IN_A_BYTE * size):
        raise ModelError(
            f"the configuration in {source} does not fit its weights: it is of {elements:,} "
            f"numbers, and they have {size:,} bytes; copy the model again."
        )


def revision_of(source: str, network: nn.Module, revision: str | None) -> str:
    """Return the commit on the hub, else a digest of the weights: of files, or in memory."""
    packed = gguf_of(source)
    files = [packed] if packed else files_of_weights(source)
    if not files:  # the commit of which the configuration lies in the cache of the hub
        cached = try_to_load_from_cache(source, "config.json", revision=revision)
        return Path(cached).parent.name if isinstance(cached, str) else digest_of_weights(network)
    digest = hashlib.sha256()
    for path in files:
        with open_file(path, error=ModelError) as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
    return shortened(digest)
