"""Links written pair by pair, and times of words.

Source: Radford et al. (2022), "Robust speech recognition via large-scale weak supervision", and the
word timing of its published code: the attention of pieces to the frames that are heard,
standardised over the pieces, smoothed over time, and a path through it by dynamic time warping.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight import files
from headlight.errors import RunError, UsageError, setting

EVERY = 256
"""Pairs after which the state is kept; a kill loses at most this many."""


@dataclass(frozen=True)
class LinkFile:
    """A file of links, and its unfinished state until all are there.

    Until the end, lines stand in ``NAME.partial``, and ``NAME.state`` holds the number of their
    pairs; then the first takes the final name, and the other is removed.

    Attributes:
        path: Path of the finished file.
        signature: Everything that the lines depend on, as JSON; an unfinished file with another
            signature is refused.
        resume: Whether to continue an unfinished file, if there is one.
        overwrite: Whether to replace an existing file, finished or not.
    """

    path: Path
    signature: Mapping[str, Any]
    resume: bool = False
    overwrite: bool = False

    @property
    def partial(self) -> Path:
        """Return the path of the lines so far."""
        return self.path.with_name(f"{self.path.name}.partial")

    @property
    def state(self) -> Path:
        """Return the path of the file that counts the finished pairs."""
        return self.path.with_name(f"{self.path.name}.state")

    def check_free(self) -> None:
        """Refuse to replace a file unless that is requested.

        Raises:
            UsageError: There is a file, finished or not; or no folder for it.
        """
        if self.resume and self.overwrite:
            raise UsageError("a file is either gone on with or overwritten; choose one of the two.")
        files.check_reachable(self.path, error=UsageError)
        if not self.path.parent.is_dir():
            raise UsageError(
                f"{self.path}: there is no folder {self.path.parent}; create it first."
            )
        if self.path.is_dir():
            raise UsageError(f"{self.path} is a folder; give the name of a file.")
        if self.overwrite:
            return
        if self.path.exists():
            raise UsageError(
                f"{self.path} is there already; choose another, or {setting('overwrite=True')}."
            )
        if self.state.exists() and not self.resume:
            raise UsageError(
                f"{self.path} is half done; go on with {setting('resume=True')}, or start over "
                f"with {setting('overwrite=True')}."
            )

    @contextmanager
    def opened(self) -> Iterator["OpenLinkFile"]:
        """Open the file for writing; it gets its name when the block ends without an error.

        Raises:
            UsageError: See `check_free`.
            RunError: The unfinished file has another signature, or cannot be written to.
        """
        self.check_free()
        pairs, size = self._begun()
        try:
            with files.begun_file(self.partial) as stream:
                stream.truncate(size)
                stream.seek(size)
                opened = OpenLinkFile(self, stream, pairs)
                yield opened
                opened.keep()
            self.partial.replace(self.path)
            self.state.unlink(missing_ok=True)
        except OSError as problem:
            raise RunError(f"{self.path} cannot be written: {files.reason(problem)}.") from problem

    def _begun(self) -> tuple[int, int]:
        """Return the number of finished pairs, and the bytes of their lines."""
        if not (self.resume and self.state.exists() and self.partial.exists()):
            return 0, 0
        try:
            state = files.read_json(self.state, error=RunError)
            pairs, size, signature = state["pairs"], state["bytes"], state["signature"]
        except (ValueError, KeyError, TypeError) as problem:
            raise RunError(
                f"{self.state} cannot be read; start over with {setting('overwrite=True')}."
            ) from problem
        if signature != json.loads(json.dumps(dict(self.signature))):
            raise RunError(
                f"{self.path} was begun with other settings, another model or other text; repeat "
                f"those, or start over with {setting('overwrite=True')}."
            )
        return int(pairs), int(size)


class OpenLinkFile:
    """A file of links that is being written.

    Attributes:
        pairs: Number of pairs whose lines it holds.
    """

    def __init__(self, file: LinkFile, stream: IO[bytes], pairs: int) -> None:
        self.pairs = pairs
        self._file = file
        self._stream = stream

    def begin(self, text: str) -> None:
        """Write the text before the first pair."""
        self._stream.write(text.encode())

    def write(self, text: str) -> None:
        """Write the lines of one pair."""
        self._stream.write(text.encode())
        self.pairs += 1
        if self.pairs % EVERY == 0:
            self.keep()

    def keep(self) -> None:
        """Write everything so far to disk, where it survives a kill."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        state = {
            "pairs": self.pairs,
            "bytes": self._stream.tell(),
            "signature": dict(self._file.signature),
        }
        files.write(self._file.state, json.dumps(state).encode(), error=RunError)


SMOOTHED = 7
"""Frames of the median filter."""

Maps = Float64[np.ndarray, "unit row frame"]


def standardised(maps: Maps) -> Maps:
    """Return frames with mean 0 and deviation 1 over the rows, smoothed along time.

    Attention that all rows pay a frame alike tells nothing about any of them.  A frame to which all
    rows give the same has 0.
    """
    from scipy.ndimage import median_filter  # slow to import, and of no use to texts

    mean = maps.mean(1, keepdims=True)
    deviation = maps.std(1, keepdims=True)
    scaled = np.divide(maps - mean, deviation, out=np.zeros_like(maps), where=deviation > 0)
    smooth: Maps = median_filter(scaled, (1, 1, SMOOTHED), mode="mirror")
    return smooth


def row_starts(maps: Maps) -> Int64[np.ndarray, "unit row"]:
    """Return the frame where each row begins on the path with the largest sum, in each map.

    A path leads from the first row and frame to the last ones; each step goes to the next row, the
    next frame, or both.  Rows may begin at the same frame.
    """
    units, rows, frames = maps.shape
    frame = np.arange(frames)
    sums = maps.cumsum(2)
    before = np.pad(sums, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]
    entered = np.zeros((units, rows, frames), dtype=np.int64)
    diagonal = np.zeros((units, rows, frames), dtype=bool)
    best = sums[:, 0]  # the first row is entered at the first frame
    for row in range(1, rows):
        from_before = np.pad(best, ((0, 0), (1, 0)), constant_values=-np.inf)[:, :-1]
        diagonal[:, row] = from_before >= best
        entry = np.maximum(from_before, best) - before[:, row]
        highest = np.maximum.accumulate(entry, 1)
        entered[:, row] = np.maximum.accumulate(np.where(entry == highest, frame, 0), 1)
        best = highest + sums[:, row]
    starts = np.zeros((units, rows), dtype=np.int64)
    unit, at = np.arange(units), np.full(units, frames - 1)
    for row in range(rows - 1, 0, -1):
        at = entered[unit, row, at]
        starts[:, row] = at
        at = at - diagonal[unit, row, at]
    return starts


def on_path(
    maps: Maps, starts: Int64[np.ndarray, "unit row"], around: int
) -> Float64[np.ndarray, "unit row"]:
    """Return the share of each row on its stretch of the path and some frames around it.

    Args:
        maps: Maps before standardisation, not below 0.
        starts: Starts of rows, see `row_starts`; a row lasts to where the next begins, the last row
            to the end.
        around: Frames on either side.

    Returns:
        Shares; NaN for a row whose sum is 0.
    """
    frames = maps.shape[2]
    ends = np.concatenate([starts[:, 1:], np.full((len(starts), 1), frames)], 1)
    frame = np.arange(frames)
    inside = (frame >= starts[..., None] - around) & (frame < ends[..., None] + around)
    whole = maps.sum(2)
    nothing = np.full_like(whole, np.nan)
    shares: Float64[np.ndarray, "unit row"] = np.divide(
        (maps * inside).sum(2), whole, out=nothing, where=whole > 0
    )
    return shares


def word_stretches(
    starts: Int64[np.ndarray, "unit row"],
    words: Int64[np.ndarray, " row"],
    number: int,
    frames: int,
) -> Int64[np.ndarray, "unit word 2"]:
    """Return the first frame of each word, and the first frame after it.

    Args:
        starts: Starts of rows, see `row_starts`.
        words: Word of each row, in order; -1 for rows after the last word.
        number: Number of words.
        frames: Number of frames that are heard.
    """
    ends = np.concatenate([starts[:, 1:], np.full((len(starts), 1), frames)], 1)
    first = np.searchsorted(np.where(words < 0, number, words), np.arange(number))
    after = np.searchsorted(np.where(words < 0, number, words), np.arange(number), side="right")
    return np.stack([starts[:, first], ends[:, after - 1]], -1)
