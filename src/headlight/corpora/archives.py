"""Text files, and those in archives: tar, also compressed, and zip."""

import io
import tarfile
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import cast

from headlight.corpora.compression import DECOMPRESSORS, decompress, open_bytes, open_file, suffixes
from headlight.corpora.files import is_companion
from headlight.corpora.lines import Lines
from headlight.errors import CorpusError
from headlight.files import Location, storable, why_unread

TAR_SUFFIXES = {".tar", ".tgz", ".txz", ".tbz", ".tbz2", ".tzst"}
HEADER_LIMIT = 2**20
"""Largest number of bytes of a name or of attributes in a tar file, which are held in memory."""

CHUNK = 2**16

Member = tuple[str, io.BufferedIOBase, io.BufferedReader]
"""Name and content of a member, and the archive as it lies on the disk."""


def text_files(path: Location) -> Generator[Lines, None, None]:
    """Yield the text files of `path`, each to be read before the next is requested.

    A tar file, compressed or not, and a zip file stand for the regular files in them, in the order
    of the archive; hidden files and companions such as ``README.md`` are left out.

    Raises:
        CorpusError: The file or the archive cannot be read, or the archive holds no text files.
    """
    suffix, packed = suffixes(path)
    if suffix in TAR_SUFFIXES:
        yield from _all(_tar(path), path)
    elif (suffix, packed) == (".zip", ""):
        yield from _all(_zip(path), path)
    else:
        with open_bytes(path) as (stream, file):
            yield Lines(stream, storable(path), file)


def is_packed(path: Location) -> bool:
    """Return whether a file is compressed, or an archive: it has fewer bytes than its texts."""
    suffix, packed = suffixes(path)
    return bool(packed) or suffix in TAR_SUFFIXES or suffix == ".zip"


def _all(members: Iterator[Member], path: Location) -> Iterator[Lines]:
    empty = True
    while True:
        with _refusals(path):
            member = next(members, None)
        if member is None:
            break
        empty = False
        name, stream, file = member
        _, packed = suffixes(name)
        if packed:
            stream = DECOMPRESSORS[packed][1](stream)
        yield Lines(stream, f"{storable(path)}/{storable(name)}", file)
    if empty:
        raise CorpusError(f"the archive {storable(path)} holds no text files; check the path.")


@contextmanager
def _refusals(path: Location) -> Iterator[None]:
    try:
        yield
    except CorpusError:
        raise
    except Exception as error:  # encrypted, an unknown method, nonsense in the directory, ...
        raise CorpusError(
            f"the archive {storable(path)} cannot be read: {why_unread(error)}; "
            "it is damaged, cut short, encrypted, or not what its suffix says."
        ) from error


def _tar(path: Location) -> Iterator[Member]:
    with open_file(path) as file:
        unpacked = decompress(file)
        # "r|": members come one after the other, and nothing is sought or kept.  With a buffer of
        # one block, what is unpacked stands right behind the block that ends the archive.
        with tarfile.open(
            fileobj=unpacked, mode="r|", tarinfo=StrictHeader, bufsize=tarfile.BLOCKSIZE
        ) as archive:
            for member in archive:
                if member.isfile() and _is_text(member.name):
                    stream = cast("io.BufferedIOBase", archive.extractfile(member))
                    yield member.name, stream, file
        _check_rest(unpacked)


def _check_rest(stream: io.BufferedIOBase) -> None:
    # Only at its end does a compressed file show whether it is whole.
    while chunk := stream.read(CHUNK):
        if chunk.strip(b"\0"):
            raise tarfile.ReadError("something follows the end of the archive")


def _zip(path: Location) -> Iterator[Member]:
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir() and _is_text(member.filename):
                with archive.open(member) as stream:
                    yield member.filename, cast("io.BufferedIOBase", stream), file


def _is_text(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not any(p.startswith(".") for p in parts) and not is_companion(parts[-1])


class StrictHeader(tarfile.TarInfo):
    """Header whose damage or lack is an error; by itself tarfile takes it for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "StrictHeader":
        """Return the header of one member.

        Raises:
            tarfile.ReadError: It is no header, or announces more than `HEADER_LIMIT` bytes of name.
        """
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                raise  # a block of zeros: the end of the archive
            raise tarfile.ReadError(f"{error} where a file or the end should be") from error
        if not header.isreg() and header.size > HEADER_LIMIT:
            raise tarfile.ReadError(f"a name of {header.size:,} bytes")
        return header
