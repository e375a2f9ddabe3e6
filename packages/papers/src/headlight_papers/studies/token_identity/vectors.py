"""Input tokens and hidden tokens of some examples, in memory or in files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from headlight.errors import ResultError
from headlight.files import open_file, read_json

HEADER = "vectors.json"
HIDDEN = "hidden-{}.npy"


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """x_i and e_i^l of every token, special ones included; the tokens of a sequence follow it.

    Attributes:
        inputs: x_i; what layers are compared with.
        hidden: e_i^l, for each layer what its block puts out.
        lengths: tokens of each sequence.
    """

    inputs: Float32[np.ndarray, "token input"]
    hidden: Sequence[Float32[np.ndarray, "token model"]]
    lengths: Int64[np.ndarray, " sequence"]

    @property
    def first(self) -> Int64[np.ndarray, " sequence"]:
        """The row of each sequence's first token."""
        first: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return first

    @property
    def sequence(self) -> Int64[np.ndarray, " token"]:
        """The number of the sequence of each token, from 0."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def position(self) -> Int64[np.ndarray, " token"]:
        """The place of each token within its sequence, from 0."""
        position: np.ndarray = np.arange(len(self.inputs)) - self.first[self.sequence]
        return position

    def previous_layer(self, layer: int) -> Float32[np.ndarray, "token dim"]:
        """Return the input of the block of this layer: the output of the previous one, or x_i."""
        return self.hidden[layer - 1] if layer else self.inputs


def tensor(rows: Float32[np.ndarray, "token dim"]) -> Float32[Tensor, "token dim"]:
    """The rows as a tensor that shares their memory, or their file; it is only read."""
    return torch.from_numpy(rows)


def vector_files(folder: Path, layers: int) -> tuple[Path, list[Path]]:
    """Return the files of the inputs and of the hidden tokens of each layer."""
    return folder / "inputs.npy", [folder / HIDDEN.format(f"{at:02}") for at in range(layers)]


def open_vectors(folder: Path) -> tuple[TokenVectors, dict[str, Any]] | None:
    """Finished vectors in a folder, memory-mapped, and what they were made from; None if none.

    Raises:
        ResultError: the files are damaged.
    """
    if not (folder / HEADER).exists():
        return None
    try:
        header: Mapping[str, Any] = read_json(folder / HEADER)
        inputs, hidden = vector_files(folder, len(list(folder.glob(HIDDEN.format("*")))))
        if len(hidden) != header["layers"]:
            raise ResultError(f"{folder} has {len(hidden)} layers, and not those it says.")
        for path in (inputs, *hidden):
            open_file(path, own=True).close()  # mapping would wait for a pipe
        # Copy on write: torch wants memory that could be written to.
        opened = [np.load(path, mmap_mode="c") for path in (inputs, *hidden)]
        lengths = np.array(header["lengths"], dtype=np.int64)
        if any(len(rows) != lengths.sum() for rows in opened):
            raise ResultError(f"the files in {folder} differ in length; remove the folder.")
        return TokenVectors(opened[0], opened[1:], lengths), dict(header["signature"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ResultError(f"{folder} cannot be read ({problem}); remove the folder.") from problem
