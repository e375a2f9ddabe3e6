"""Attention maps between words, kept on disk, on which parser probes are trained."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Float32, Int64
from torch import Tensor

from headlight import files
from headlight.errors import CaptureError, RunError
from headlight.tensor_files import load_tensors, save_tensors

SPECIALS = 2
"""Positions before the words: the special token a sentence begins with, the one it ends with."""

NO_HEAD = -1
"""Marker of a word whose governor was lost by truncation."""

BYTES = 2
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Index:
    """The sentences of a store: their places, words and trees.

    Attributes:
        lengths: Number of words of each sentence.
        heads: Governor of each word, all sentences in a row: from 1, 0 for the root, -1 if lost.
        punctuation: Whether a word counts as punctuation, which no score counts.
        word: Entry of each word in `vocabulary`.
        vocabulary: Words as they are written; one entry for each way to cut a word into pieces.
        pieces: Vocabulary ids of the pieces of all entries, in a row.
        piece_counts: Number of pieces of each entry.
        special: Whether every sentence begins with a special token, and whether it ends with one.
    """

    lengths: Int64[np.ndarray, " sentence"]
    heads: Int64[np.ndarray, " word"]
    punctuation: Bool[np.ndarray, " word"]
    word: Int64[np.ndarray, " word"]
    vocabulary: tuple[str, ...]
    pieces: Int64[np.ndarray, " piece"]
    piece_counts: Int64[np.ndarray, " entry"]
    special: Bool[np.ndarray, "2"]

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def first_word(self) -> Int64[np.ndarray, " sentence_and_end"]:
        """Return the index of the first word of each sentence."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def first_cell(self) -> Int64[np.ndarray, " sentence_and_end"]:
        """Return the index of the first pair of positions of each sentence."""
        return np.concatenate([[0], np.cumsum((self.lengths + SPECIALS) ** 2)])

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of words and annotations."""
        chain = hashlib.sha256(json.dumps(self.vocabulary).encode())
        for array in self.arrays().values():
            chain.update(np.ascontiguousarray(array).tobytes())
        return chain.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays, which are everything but the vocabulary."""
        names = [member.name for member in fields(self) if member.name != "vocabulary"]
        return {name: getattr(self, name) for name in names}

    def bytes(self, heads: int) -> int:
        """Return the bytes on disk of these heads' maps: n² · heads · 2 bytes per sentence."""
        return int(self.first_cell[-1]) * heads * BYTES


class WordMaps:
    """The attention maps of one measure, read from disk as they are needed.

    Of a map only one direction is stored; its transpose is the same numbers.  float16 keeps a
    value within 2⁻¹¹ of itself (0.05%), and below 6·10⁻⁵ within 3·10⁻⁸.

    Attributes:
        index: Sentences of the store.
        signature: Everything that the maps depend on.
        scale: Divisor of the maps of each head; 1 but for norms.
    """

    def __init__(
        self,
        index: Index,
        signature: Mapping[str, Any],
        scale: Float32[np.ndarray, " head"],
        path: Path,
    ) -> None:
        self.index = index
        self.signature = dict(signature)
        self.scale = scale
        self._path = path
        self._cells: Float16[Tensor, " number"] | None = None  # of a file that is empty
        if path.stat().st_size:
            # Copied on writing: torch warns of memory that cannot be written, which nobody does.
            self._cells = torch.from_numpy(np.memmap(path, np.float16, mode="c"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments alone, so that another process opens the same file."""
        return WordMaps, (self.index, self.signature, self.scale, self._path)

    @property
    def heads(self) -> int:
        """Return the number of heads of all layers together."""
        return len(self.scale)

    def maps(
        self, numbers: Sequence[int], dtype: torch.dtype = torch.float16
    ) -> Float[Tensor, "sentence position position head"]:
        """Return the maps of sentences from position (first axis) to position, padded with zeros.

        Positions 0 and 1 are the special tokens that a sentence begins and ends with, all zero
        where the model has none; position i + 2 is word i.
        """
        sizes = (self.index.lengths[list(numbers)] + SPECIALS).tolist()
        longest = max(sizes, default=0)
        padded = torch.empty(len(sizes), longest, longest, self.heads, dtype=dtype)
        for place, (number, size) in enumerate(zip(numbers, sizes, strict=True)):
            padded[place, :size, :size] = self._sentence(number, size)
            if size < longest:
                padded[place, size:] = 0
                padded[place, :size, size:] = 0
        return padded

    def _sentence(self, number: int, size: int) -> Float16[Tensor, "position position head"]:
        assert self._cells is not None  # noqa: S101 - without cells there is no sentence
        first, end = (self.index.first_cell[number : number + 2] * self.heads).tolist()
        return self._cells[first:end].view(size, size, self.heads)


def maps_path(folder: Path, measure: str) -> Path:
    """Return the path of the numbers."""
    return folder / f"{measure}.maps"


def header_path(folder: Path, measure: str) -> Path:
    """Return the path of the header, which is written only once the numbers are complete."""
    return folder / f"{measure}.safetensors"


def open_word_maps(folder: Path, measure: str) -> WordMaps | None:
    """Return the finished store of a measure, or None where there is none.

    Raises:
        RunError: The store is damaged, or of another version of Headlight.
    """
    path = header_path(folder, measure)
    if not path.exists():
        return None
    try:
        arrays, header = load_tensors(path, what="store of word maps", error=RunError)
        scale = arrays.pop("scale")
        if header["format"] != _FORMAT:
            raise ValueError(f"format {header['format']} instead of {_FORMAT}")
        index = Index(vocabulary=tuple(header["vocabulary"]), **arrays)
        maps = maps_path(folder, measure)
        if maps.stat().st_size != index.bytes(len(scale)):
            raise ValueError(f"{maps.name} is not as long as it should be")
        return WordMaps(index, header["signature"], scale, maps)
    except (OSError, RunError, KeyError, TypeError, ValueError) as problem:
        why = files.why_unread(problem)
        raise RunError(
            f"the attention kept in {path} cannot be used ({why}); remove the folder to make it "
            "again."
        ) from problem


@dataclass(eq=False, repr=False)
class MapsWriter:
    """Writer of the maps of one measure; a context manager.

    Sentences may come in any order.  The numbers lie under a temporary name until `finish`; an
    unfinished file is removed.

    Attributes:
        folder: Folder of the store; it must exist.
        index: Sentences of the store.
        signature: Everything that the maps depend on; its ``measure`` names the files.
        scale: Divisor of the maps of each head.
    """

    folder: Path
    index: Index
    signature: Mapping[str, Any]
    scale: Float32[np.ndarray, " head"]

    def __post_init__(self) -> None:
        self._path = maps_path(self.folder, self.signature["measure"])
        self._partial = files.partial_path(self._path)

    def __enter__(self) -> "MapsWriter":
        with _refusing(self._path):
            self._file = self._partial.open("wb")
            self._file.truncate(self.index.bytes(len(self.scale)))
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def put(self, number: int, maps: Float[np.ndarray, "position position head"]) -> None:
        """Keep the maps of one sentence, divided by the scale of their head.

        Raises:
            CaptureError: A value is too large for float16, or is no number.
            RunError: The maps cannot be written.
        """
        # torch rounds to float16 many times faster than numpy does.
        small = torch.from_numpy(maps / self.scale).half().numpy()
        if not np.isfinite(small).all():
            raise CaptureError(
                f"sentence {number} has {self.signature['measure']} values that float16 cannot "
                "hold; leave this measure out of the probes."
            )
        with _refusing(self._path):
            self._file.seek(int(self.index.first_cell[number]) * len(self.scale) * BYTES)
            self._file.write(small.tobytes())

    def finish(self) -> None:
        """Give the files their final names; the header comes last and completes the store.

        Raises:
            RunError: The files cannot be written.
        """
        with _refusing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            path = header_path(self.folder, self.signature["measure"])
            path.unlink(missing_ok=True)
            self._partial.replace(self._path)
        vocabulary = self.index.vocabulary
        header = {"format": _FORMAT, "signature": self.signature, "vocabulary": vocabulary}
        save_tensors(path, {**self.index.arrays(), "scale": self.scale}, header, error=RunError)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn errors of the disk into an error that names the file."""
    try:
        yield
    except OSError as problem:
        raise RunError(f"{path} cannot be written: {files.reason(problem)}.") from problem
