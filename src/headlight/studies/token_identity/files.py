"""Trained maps as files: safetensors, a file for each map."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from headlight import files
from headlight.errors import ResultError

_HEADER = "headlight"
_NAMES = {"linear": ("weight",), "mlp": ("in.weight", "in.bias", "out.weight", "out.bias")}


def save_map(
    path: Path, kind: str, weights: list[Float[Tensor, "..."]], notes: Mapping[str, Any]
) -> None:
    """Write a map to one file, whole or not at all; matrices are [out, in], as in ``nn.Linear``.

    Args:
        path: the file; its folder must exist.
        kind: ``linear`` or ``mlp``.
        weights: its parameters, in the order of their use.
        notes: what it was trained on, as JSON.

    Raises:
        ResultError: the file cannot be written.
    """
    header = json.dumps({"kind": kind, "notes": dict(notes)})
    tensors = {
        name: tensor.cpu().contiguous() for name, tensor in zip(_NAMES[kind], weights, strict=True)
    }
    files.write(path, save(tensors, metadata={_HEADER: header}), error=ResultError)


def load_map(path: Path | str) -> tuple[str, dict[str, Float[Tensor, "..."]], dict[str, Any]]:
    """A map that `save_map` wrote: its kind, its parameters by name, its notes.

    Raises:
        ResultError: the file cannot be read, or holds no map.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return str(header["kind"]), tensors, dict(header["notes"])
    except (OSError, SafetensorError) as problem:
        raise ResultError(f"{path} cannot be read: {problem}") from problem
    except (KeyError, TypeError, ValueError) as problem:
        raise ResultError(f"{path} is not a map that Headlight wrote; give another.") from problem
