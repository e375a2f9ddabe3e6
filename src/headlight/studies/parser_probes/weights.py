"""Trained probes as files: safetensors, with all that is needed to build them again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from headlight import files
from headlight.errors import ResultError
from headlight.studies.parser_probes.models import (
    Attention,
    AttentionAndWords,
    DistancesAndWords,
    Parser,
    RightBranching,
)

MODELS: dict[str, type[Parser]] = {
    "right_branching": RightBranching,
    "distances_and_words": DistancesAndWords,
    "attention": Attention,
    "attention_and_words": AttentionAndWords,
}
_HEADER = "headlight"


def build(kind: str, options: Mapping[str, Any], seed: int) -> Parser:
    """A new probe of a kind of `MODELS`, its weights drawn by this seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MODELS[kind](**options)


def save_probe(
    model: Parser, path: Path, *, options: Mapping[str, Any], notes: Mapping[str, Any]
) -> None:
    """Write a probe to one file, whole or not at all.

    Args:
        model: the probe.
        path: the file; its folder must exist.
        options: what it was built with.
        notes: what it was trained on, as JSON.

    Raises:
        ResultError: the file cannot be written.
    """
    kind = next(name for name, made in MODELS.items() if type(model) is made)
    header = {"kind": kind, "options": dict(options), "notes": dict(notes)}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
    files.write(path, save(tensors, metadata={_HEADER: json.dumps(header)}), error=ResultError)


def load_probe(path: Path | str) -> tuple[Parser, dict[str, Any]]:
    """A probe that `save_probe` wrote, and its notes.

    Raises:
        ResultError: the file cannot be read, or is no probe.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        model = MODELS[header["kind"]](**header["options"])
        model.load_state_dict(tensors)
        return model, dict(header["notes"])
    except (OSError, SafetensorError) as problem:
        raise ResultError(f"{path} cannot be read: {problem}") from problem
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise ResultError(f"{path} is not a probe that Headlight wrote; give another.") from problem
