"""Models in GGUF files: arguments for loading them, and formats that weights were rounded to."""

from typing import Any

from transformers import GgufConfig
from transformers.integrations.gguf.reader import read_gguf_metadata
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from headlight.catalogue.model_folders import gguf_of

UNKNOWN = "unknown"
_FILE_TYPE = "general.file_type"
_NOT_ROUNDED = "ALL_F32"


def files_of(place: str) -> tuple[str, dict[str, str]]:
    """Return the folder or name that transformers loads, and the option that names a GGUF file."""
    path = gguf_of(place)
    return (str(path.parent), {"gguf_file": path.name}) if path else (place, {})


def quantisation_of(place: str) -> str:
    """Return the format that most weights were rounded to, such as ``Q4_1``; empty if none."""
    path = gguf_of(place)
    if path is None:
        return ""
    from gguf import LlamaFileType  # not installed everywhere

    metadata, _ = read_gguf_metadata(str(path))
    kinds = {int(file_type): file_type.name for file_type in LlamaFileType}
    name = kinds.get(metadata.get(_FILE_TYPE, -1), UNKNOWN)
    return "" if name == _NOT_ROUNDED else name.removeprefix("MOSTLY_")


def unpacked(config: Any) -> dict[str, Any]:
    """Return the options that load weights as numbers, for norms and gradients.

    The configuration of a file does not say which head is in it; that of a decoder is.
    """
    if not config.architectures and config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        config.architectures = [MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]]
    return {"quantization_config": GgufConfig(dequantize=True)}
