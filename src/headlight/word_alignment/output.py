"""A file of links that is written while pairs are aligned, and can be gone on with."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from headlight import files
from headlight.errors import RunError, UsageError

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
            raise UsageError(f"{self.path} is there already; choose another, or --overwrite.")
        if self.state.exists() and not self.resume:
            raise UsageError(
                f"{self.path} is half done; go on with --resume, or start over with --overwrite."
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
                f"{self.state} cannot be read; start over with --overwrite."
            ) from problem
        if signature != json.loads(json.dumps(dict(self.signature))):
            raise RunError(
                f"{self.path} was begun with other settings, another model or other text; repeat "
                "those, or start over with --overwrite."
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
