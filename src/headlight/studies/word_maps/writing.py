"""Writing a store of attention maps, sentence by sentence, whole or not at all."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32

from headlight import files
from headlight.errors import CaptureError, RunError
from headlight.studies.word_maps.store import (
    BYTES,
    Index,
    header_path,
    maps_path,
    write_header,
)


class MapsWriter:
    """The maps of one measure on their way to disk; a context manager.

    Sentences may come in any order.  The numbers lie under a temporary name until `finish`; what
    was not finished is removed.

    Args:
        folder: where the store will be; it must exist.
        index: the sentences.
        signature: what the maps are made from; its ``measure`` names the files.
        scale: what the maps of each head are divided by.
    """

    def __init__(
        self,
        folder: Path,
        index: Index,
        signature: Mapping[str, Any],
        scale: Float32[np.ndarray, " head"],
    ) -> None:
        self._folder = folder
        self._index = index
        self._signature = signature
        self._scale = scale
        self._path = maps_path(folder, signature["measure"])
        self._partial = self._path.with_name(f".{self._path.name}.{os.getpid()}.partial")

    def __enter__(self) -> "MapsWriter":
        files.remove_partials(self._path)
        with _refusing(self._path):
            self._file = self._partial.open("wb")
            self._file.truncate(self._index.bytes(len(self._scale)))
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def put(self, number: int, maps: Float[np.ndarray, "unit unit head"]) -> None:
        """Keep the maps of one sentence, divided by the scale of their head.

        Raises:
            CaptureError: a value is too large for float16, or is no number.
            RunError: the disk is full.
        """
        # torch rounds to float16 many times faster than numpy does.
        small = torch.from_numpy(maps / self._scale).half().numpy()
        if not np.isfinite(small).all():
            raise CaptureError(
                f"sentence {number} has {self._signature['measure']} values that float16 cannot "
                "hold; leave this measure out of the probes."
            )
        with _refusing(self._path):
            self._file.seek(int(self._index.first_cell[number]) * len(self._scale) * BYTES)
            self._file.write(small.tobytes())

    def finish(self) -> None:
        """Give the files their final names; the header comes last and completes the store.

        Raises:
            RunError: they cannot be written.
        """
        with _refusing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            header_path(self._folder, self._signature["measure"]).unlink(missing_ok=True)
            self._partial.replace(self._path)
        write_header(self._folder, self._index, self._signature, self._scale)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn errors of the disk into a refusal that names the file."""
    try:
        yield
    except OSError as problem:
        raise RunError(f"{path} cannot be written: {files.reason(problem)}.") from problem


def demand_space(folder: Path, needed: int) -> None:
    """Refuse to begin where the disk would be full before the end.

    Raises:
        RunError: fewer bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise RunError(
            f"the attention maps take {gigabytes(needed)} in {folder}, where {gigabytes(free)} are "
            "free; choose another place, fewer measures or fewer sentences."
        )


def gigabytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:.2f} GB"
