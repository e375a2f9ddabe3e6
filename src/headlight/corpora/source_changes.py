"""Changes of a source since it was read: its state, and its digest."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headlight.corpora.compression import open_file
from headlight.corpora.files import files
from headlight.corpora.hub import FILE_READERS, PREFIX, HubSource, hub_revision
from headlight.errors import CorpusError
from headlight.files import Location, storable, why_unread

_OF_READING = ("atime", "time")
"""Names that drivers of stores give to the time at which a file was last read."""

_READ_AT_ONCE = 1 << 22


def source_state(source: str) -> list[Any]:
    """Return the state of a source as JSON: name, size and time of each file; nothing is read.

    Patterns, ``~``, folders and addresses stand for the files that would be read.  The state of a
    data set of a hub is its revision; a source that ``hf:`` reads from local files has the state of
    the files.

    Args:
        source: Source, such as `headlight.corpora.open_corpus` reads.

    Raises:
        CorpusError: There is no such source, or it cannot be examined.
        UsageError: A data set is requested, and the library is not installed.
    """
    if not source.startswith(PREFIX):
        return [source, *_states(source)]
    parts = HubSource.parse(source)
    local = parts.config if parts.name in FILE_READERS else parts.name
    try:
        return [source, *_states(local or "")]
    except CorpusError:  # it is elsewhere
        return [source, *hub_revision(parts, source)]


def source_digest(source: str) -> str:
    """Return SHA-256 of all bytes of the files of a source, whatever their places and times.

    Raises:
        CorpusError: There is no such source, or it cannot be read.
    """
    chain = hashlib.sha256()
    for file in files(source):
        try:
            with open_file(file) as content:
                while block := content.read(_READ_AT_ONCE):
                    chain.update(block)
        except Exception as error:  # every driver raises errors of its own
            raise CorpusError(f"{storable(file)} cannot be read: {why_unread(error)}.") from error
    return chain.hexdigest()


def _states(source: str) -> Iterator[list[Any]]:
    for file in files(source):
        try:
            yield [storable(file), *_state(file)]
        except Exception as error:  # every driver raises errors of its own
            why = why_unread(error)
            raise CorpusError(f"{storable(file)} cannot be inspected: {why}.") from error


def _state(file: Location) -> list[Any]:
    if isinstance(file, Path):
        status = file.stat()
        return [status.st_size, status.st_mtime_ns]
    # Drivers name what they know differently (ETag, version, mtime): all of it counts.
    info = file.fs.info(file.path)
    return [{name: str(value) for name, value in info.items() if name not in _OF_READING}]
