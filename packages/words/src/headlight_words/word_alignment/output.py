"""Links written pair by pair, and times of words.

Source: Radford et al. (2022), "Robust speech recognition via large-scale weak supervision", and the
word timing of its published code: what a piece gives to the frames that are heard, standardised
over the pieces, smoothed over time, and a path through it by dynamic time warping.
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
    """File of links, and its unfinished state until all are there.

    Until the end, lines stand in ``NAME.partial``, and ``NAME.state`` says how many pairs they are
    of; then the first takes the final name, and the other goes.

    Attributes:
        path: The file.
        signature: What the lines depend on, as JSON; half a file of something else is refused.
        resume: Go on with what is half done, if there is something.
        overwrite: Replace a file that is there, and what is half done.
    """

    path: Path
    signature: Mapping[str, Any]
    resume: bool = False
    overwrite: bool = False

    @property
    def partial(self) -> Path:
        """The lines so far."""
        return self.path.with_name(f"{self.path.name}.partial")

    @property
    def state(self) -> Path:
        """Return the path of the file that counts the finished pairs."""
        return self.path.with_name(f"{self.path.name}.state")

    def check_free(self) -> None:
        """Refuse to replace what nobody has spoken of.

        Raises:
            UsageError: There is a file, or half of one; or no folder for it.
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
        """The file, to be written to; it gets its name when the block ends well.

        Raises:
            UsageError: See `check_free`.
            RunError: What is half done is of something else, or cannot be written to.
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
        """Pairs that are done, and the bytes of their lines."""
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
        pairs: How many pairs it holds the lines of.
    """

    def __init__(self, file: LinkFile, stream: IO[bytes], pairs: int) -> None:
        self.pairs = pairs
        self._file = file
        self._stream = stream

    def begin(self, text: str) -> None:
        """Write the text before the first pair."""
        self._stream.write(text.encode())

    def write(self, text: str) -> None:
        """The lines of one pair."""
        self._stream.write(text.encode())
        self.pairs += 1
        if self.pairs % EVERY == 0:
            self.keep()

    def keep(self) -> None:
        """Let what is written so far survive a kill."""
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
    """Each frame with mean 0 and deviation 1 over the rows, smoothed along time.

    What all rows give to a frame alike says nothing of any of them.  A frame that all rows give the
    same has 0.
    """
    from scipy.ndimage import median_filter  # slow to import, and of no use to texts

    mean = maps.mean(1, keepdims=True)
    deviation = maps.std(1, keepdims=True)
    scaled = np.divide(maps - mean, deviation, out=np.zeros_like(maps), where=deviation > 0)
    smooth: Maps = median_filter(scaled, (1, 1, SMOOTHED), mode="mirror")
    return smooth


def row_starts(maps: Maps) -> Int64[np.ndarray, "unit row"]:
    """The frame at which each row begins on the path with the largest sum, in each map.

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
    """The share of each row that goes to its stretch of the path and some frames around it.

    Args:
        maps: Not below 0, as they were before they were standardised.
        starts: See `row_starts`; a row lasts to where the next begins, the last to the end.
        around: Frames on either side.

    Returns:
        NaN for a row that gives nothing.
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
    """First frame of each word, and the first one after it.

    Args:
        starts: See `row_starts`.
        words: The word of each row, in order; -1 for what follows the last.
        number: Of words.
        frames: That are heard.
    """
    ends = np.concatenate([starts[:, 1:], np.full((len(starts), 1), frames)], 1)
    first = np.searchsorted(np.where(words < 0, number, words), np.arange(number))
    after = np.searchsorted(np.where(words < 0, number, words), np.arange(number), side="right")
    return np.stack([starts[:, first], ends[:, after - 1]], -1)
