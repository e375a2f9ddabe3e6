"""Store of trained models: each is kept in a file when it is finished."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from headlight.errors import ResultError, RunError
from headlight.files import make_folder, remove_partials
from headlight.result import calculated_with
from headlight.tensor_files import load_tensors, save_tensors


@runtime_checkable
class NamedJob(Protocol):
    """A model that is trained."""

    @property
    def name(self) -> str:
        """Return the name of its file: no other model of the folder has it."""


KeptJob = TypeVar("KeptJob", bound=NamedJob)


class ModelStore(Generic[KeptJob]):
    """Store of trained models: each has one file in the folder, whole or not at all."""

    folder: Path
    """Folder of the files."""

    def path(self, job: KeptJob) -> Path:
        """Return the path of a model's file, which holds its parameters and measurements."""
        return self.folder / f"{job.name}.safetensors"

    def is_done(self, job: KeptJob) -> bool:
        """Whether the model is there, undamaged."""
        try:
            load_tensors(self.path(job))
        except ResultError:
            return False
        return True

    def measured(self, job: KeptJob) -> dict[str, Any]:
        """Return the measurements of a finished model."""
        return load_tensors(self.path(job))[1]

    def parameters(self, job: KeptJob) -> dict[str, Tensor]:
        """Return the parameters of a finished model, by name."""
        arrays, _ = load_tensors(self.path(job))
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def save(
        self, job: KeptJob, parameters: Mapping[str, Tensor], measured: dict[str, Any]
    ) -> None:
        """Write the file of a model that is finished."""
        arrays = {name: tensor.numpy() for name, tensor in parameters.items()}
        save_tensors(self.path(job), arrays, measured)


def begin_folder(place: Path, about: Mapping[str, Any]) -> Path:
    """Return the folder of models with the same dependencies, cleared of half-written files.

    Args:
        place: Folder of all such folders.
        about: Everything that the models depend on besides their jobs, as JSON.

    Raises:
        RunError: The folder cannot be made.
    """
    text = json.dumps(dict(about) | calculated_with(), sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = make_folder(place / key, error=RunError)
    remove_partials(folder)
    return folder
