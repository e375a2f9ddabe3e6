"""Weights of a model kept as differences from the embedded model.

A matrix W that training changed is W + U V, of which the file holds the narrow matrices ``W.up``
(U) and ``W.down`` (V) in place of the whole; other tensors are in it as they are.
"""

from pathlib import Path
from typing import Any

from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor

from headlight.catalogue.embedded_models import EMBEDDED

CHANGED = "changed.safetensors"
"""Name of the file of differences."""
UP, DOWN = ".up", ".down"
_WHOLE = "model.safetensors"


def is_changed(place: str) -> bool:
    """Return whether a folder holds only the differences from the embedded model."""
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
    """Return all tensors of the model that training made of another.

    Args:
        base: Tensors of the other model.
        changes: Differences, by the names given at the head of this module.
    """
    tensors = dict(base)
    for name, tensor in changes.items():
        if name.endswith(UP):
            whole = name.removesuffix(UP)
            tensors[whole] = base[whole].float() + tensor.float() @ changes[whole + DOWN].float()
        elif not name.endswith(DOWN):
            tensors[name] = tensor
    return tensors


def tokenizer_place(place: str) -> str:
    """Return the place of a model's tokenizer: that of the embedded one is unchanged."""
    return str(EMBEDDED) if is_changed(place) else place


def files_of_weights(place: str) -> list[Path]:
    """Return the files in a folder that hold the weights of a model; none for a name on the hub."""
    base = [EMBEDDED / _WHOLE] if is_changed(place) else []
    return base + sorted(Path(place).glob("*.safetensors"))
