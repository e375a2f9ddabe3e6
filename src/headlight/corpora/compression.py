"""Compressed files and streams."""

import bz2
import gzip
import io
import lzma
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from typing import BinaryIO, cast

import zstandard

from headlight import files
from headlight.errors import CorpusError
from headlight.files import Location, storable

# Small, because one compressed kibibyte of zstandard may unfold to some 32 MiB.
ZSTANDARD_CHUNK = 1024


class ZstandardStream(io.RawIOBase):
    """Content of a zstandard file of one or more frames.

    The library's own stream reader takes a truncated file for a shorter one; this one raises.
    """

    def __init__(self, compressed: io.BufferedIOBase) -> None:
        self._compressed = compressed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")
        self._rest = b""
        self._inside = False

    def readable(self) -> bool:
        """Return True: the content can always be read."""
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """Fill `buffer` with the next bytes, and return their number; 0 at the end.

        Raises:
            EOFError: The file ends inside a frame.
        """
        while not self._ready:
            chunk = self._rest or self._compressed.read(ZSTANDARD_CHUNK)
            if not chunk and self._inside:
                raise EOFError("the file ends before its last frame does")
            if not chunk:
                return 0
            self._unfold(chunk)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unfold(self, chunk: bytes) -> None:
        self._ready = memoryview(self._frame.decompress(chunk))
        self._inside = not self._frame.eof
        self._rest = self._frame.unused_data
        if self._frame.eof:  # an object of the library unfolds one frame, and a file may have more
            self._frame = zstandard.ZstdDecompressor().decompressobj()


Decompressor = Callable[[io.BufferedIOBase], io.BufferedIOBase]

DECOMPRESSORS: dict[str, tuple[bytes, Decompressor]] = {
    ".gz": (b"\x1f\x8b", lambda stream: gzip.GzipFile(fileobj=stream)),
    ".xz": (b"\xfd7zXZ\x00", lambda stream: lzma.open(cast("BinaryIO", stream))),  # noqa: SIM115
    ".bz2": (b"BZh", lambda stream: bz2.BZ2File(stream)),
    ".zst": (b"\x28\xb5\x2f\xfd", lambda stream: io.BufferedReader(ZstandardStream(stream))),
}
"""First bytes of compressed files and the function that reads them, by suffix."""


def open_file(path: Location) -> io.BufferedReader:
    """Open the bytes of a file, wherever it is.

    Raises:
        CorpusError: The file cannot be opened.
    """
    file = files.open_file(path, error=CorpusError)
    # The files of fsspec have no limit for the length of a line.
    if isinstance(file, io.BufferedReader):
        return file
    return io.BufferedReader(cast("io.RawIOBase", file))


@contextmanager
def open_bytes(path: Location) -> Iterator[tuple[io.BufferedIOBase, io.BufferedReader]]:
    """Open the content of a file, and the file itself; the suffix says how it is compressed.

    Raises:
        CorpusError: The file cannot be opened, or was written to before it was read to its end:
            the content would be of two versions.
    """
    with ExitStack() as stack:
        file = stack.enter_context(open_file(path))
        version = _version(file)
        stream: io.BufferedIOBase = file
        _, packed = suffixes(path)
        if packed:
            stream = stack.enter_context(DECOMPRESSORS[packed][1](stream))
        yield stream, file
        if _version(file) != version:
            raise CorpusError(
                f"{storable(path)} has changed while it was read; wait until nobody writes "
                "to it, then read it again."
            )


def _version(file: io.BufferedReader) -> tuple[int, int] | None:
    """Return the size and the time of writing of a file; None where it is not on this machine."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def decompress(stream: io.BufferedIOBase) -> io.BufferedIOBase:
    """Return the content of a stream without a name; its first bytes say how it is compressed."""
    raw = cast("io.RawIOBase", stream)
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(raw)
    start = buffered.peek(8)
    for magic, decompressor in DECOMPRESSORS.values():
        if start.startswith(magic) and _is_no_text(start):
            return decompressor(buffered)
    return buffered


def _is_no_text(start: bytes) -> bool:
    # "BZh" alone could begin a sentence; bzip2 goes on with the level and the digits of pi.
    return not start.startswith(b"BZh") or start[4:8] in (b"\x31\x41\x59\x26", b"\x17\x72\x45\x38")


def suffixes(path: str | Location) -> tuple[str, str]:
    """Return the suffixes of a file and its compression, in small letters: ``.txt``, ``.gz``."""
    name = str(path).lower()
    if "://" in name:  # zip://a.txt::s3://bucket/b.zip, https://host/a.txt?key=1
        name = re.split(r"::|\?", name, maxsplit=1)[0]
    plain = PurePath(name)
    if plain.suffix not in DECOMPRESSORS:
        return plain.suffix, ""
    return plain.with_suffix("").suffix, plain.suffix
