"""Files that a source stands for, in archives too, and their lines."""

import glob
import io
import tarfile
import zipfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import cast

from headlight.corpora.compression import DECOMPRESSORS, decompress, open_bytes, open_file, suffixes
from headlight.corpora.file_kinds import kind_without_text, why_no_text
from headlight.errors import CorpusError
from headlight.files import Location, location, storable, why_unread

LINE_LIMIT = 64 * 2**20
"""Bytes in one line.  More is no text, or a file without line breaks."""

DOCUMENT_LIMIT = 64 * 2**20
"""Characters in one document.  More is a file whose documents were never told apart."""

BLANK_LIMIT = 10**6
"""Blank lines that may follow each other.  More is no text: some hundred compressed bytes unfold to
as many, each of which takes its time."""

READ_AHEAD = 2**17
"""Bytes of a packed file that are read before any of them is needed (gzip; others read fewer)."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    r"""The lines of one file, read one at a time, each with its line break.

    Only ``\n`` ends a line: U+2028 and its like are characters of the text.

    Attributes:
        name: The file, for messages.
        number: Number of the line that was read last, from 1; 0 before the first.
        encoding: Of the file; a reader that knows the format may change it before lines are read.

    Args:
        stream: The text, unpacked.
        name: See above.
        file: As it lies on the disk; by default nobody asks how much of it was read.
    """

    def __init__(
        self, stream: io.BufferedIOBase, name: str, file: io.BufferedIOBase | None = None
    ) -> None:
        self.name = name
        self._file = file
        self.number = 0
        self.encoding = "utf-8"
        self._stream = stream
        self._blank = 0
        self._waiting: str | None = None

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        """The next line.

        Raises:
            CorpusError: The file cannot be read, or the line is binary, too long or not UTF-8.
        """
        line, self._waiting = self._waiting, None
        if line is None:
            line = self._read()
        if not line:
            raise StopIteration
        self.number += 1
        return line

    def first(self) -> str:
        """The first line, which stays to be read; empty when there is none."""
        if self._waiting is None:
            self._waiting = self._read()
        return self._waiting

    @property
    def suffix(self) -> str:
        """The suffix of the file, without that of its compression: ``".conllu"``."""
        return suffixes(self.name)[0]

    @property
    def bytes_read(self) -> int:
        """Return the bytes of the file read so far; of packed ones `READ_AHEAD` too many at most.

        Zero of a stream without a file.
        """
        return 0 if self._file is None else self._file.tell()

    @property
    def place(self) -> str:
        """File and line, as messages name them: ``"a.txt:12"``."""
        return f"{self.name}:{self.number}"

    def whole(self, content: str, cure: str) -> list[str]:
        """Return all lines, which are one document together.

        Args:
            content: Name of what the file holds, for a refusal.
            cure: Advice on a document that is too long.

        Raises:
            CorpusError: It is longer than `DOCUMENT_LIMIT` characters.
        """
        gathered: list[str] = []
        size = 0
        for line in self:
            gathered.append(line)
            size += len(line)
            if size > DOCUMENT_LIMIT:
                raise CorpusError(
                    f"{self.name}: the {content} is longer than {DOCUMENT_LIMIT:,} characters; "
                    f"{cure}."
                )
        return gathered

    def _read(self) -> str:
        try:
            raw = self._stream.readline(LINE_LIMIT + 1)
        except Exception as error:  # the drivers of remote files raise what their libraries raise
            raise CorpusError(
                f"{self.name} cannot be read beyond line {self.number}: {why_unread(error)}; "
                "the file is damaged, cut short, or not what its suffix says."
            ) from error
        if self.number == 0:
            raw = raw.removeprefix(BYTE_ORDER_MARK)
            if kind := kind_without_text(raw, self.suffix):
                raise CorpusError(f"{self.name} is {kind}.")
        self._count_blank(raw)
        return self._decode(raw, f"{self.name}:{self.number + 1}")

    def _count_blank(self, raw: bytes) -> None:
        self._blank = self._blank + 1 if raw.isspace() else 0
        if self._blank > BLANK_LIMIT:
            raise CorpusError(
                f"{self.name}:{self.number + 1}: more than {BLANK_LIMIT:,} blank lines follow each "
                "other; this is no text, leave the file out."
            )

    def _decode(self, raw: bytes, place: str) -> str:
        if len(raw) > LINE_LIMIT:
            raise CorpusError(
                f"{place}: the line is longer than {LINE_LIMIT:,} bytes; "
                "break the text into lines or use another format."
            )
        if b"\0" in raw:
            raise CorpusError(f"{place}: {why_no_text(raw, self.suffix)}.")
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            why = why_no_text(raw, self.suffix, error)
            raise CorpusError(f"{place}: {why}.") from error


COMPANIONS = {"readme", "license", "licence", "notice", "copying", "citation", "manifest"}
"""Files that explain a folder and are no part of its text, whatever their suffix."""

WEB = ("http", "https")
ANY_FOLDERS = "**"


def files(source: str | Location) -> list[Location]:
    """The files of a source, in a fixed order.

    A folder is read recursively and in the order of the names; hidden files and files such as
    ``README.md`` or ``LICENSE`` are left out of it.  What is no path is taken as a pattern, where
    ``**`` stands for any number of folders.  Only what can be read again and again is a file: pipes
    and devices are refused, and so are links that lead back to a folder that they are in.

    All that holds for addresses, too, such as ``s3://bucket/folder`` or ``zip://*.txt::texts.zip``,
    if the driver of fsspec is installed; an address of the web is always one file.

    Raises:
        CorpusError: There is no such file, nothing matches, a folder is empty, unreadable or
            endless, something in it is no file, or there is no driver.
    """
    place = location(source, error=CorpusError)
    if not isinstance(place, Path) and place.protocol in WEB:
        return [place]  # to find out whether it is a folder, all of it would be downloaded
    try:
        if isinstance(place, Path):
            place = place.expanduser()
        if place.exists():
            paths = list(_expand(place))
            complaint = f"the folder {storable(place)} holds no text files"
        else:
            paths = [file for match in _matches(place) for file in _expand(match)]
            complaint = f"there is no file or folder {storable(place)}, and nothing matches it"
    except CorpusError:
        raise
    except Exception as error:  # too long, forbidden, a NUL, or whatever a driver raises
        raise CorpusError(f"{storable(source)} cannot be read: {why_unread(error)}.") from error
    if not paths:
        raise CorpusError(f"{complaint}; check the path.")
    return paths


def _matches(pattern: Location) -> Iterable[Location]:
    if isinstance(pattern, Path):
        _demand_end(pattern)
        return map(Path, sorted(glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 (absolute)
    from upath import UPath

    paths = [
        UPath(match, protocol=pattern.protocol, **pattern.storage_options)
        for match in sorted(pattern.fs.glob(pattern.path))
    ]
    # Unlike those of Python, the patterns of fsspec match hidden files.
    return [path for path in paths if _hidden_parts(path) <= _hidden_parts(pattern)]


def _hidden_parts(path: Location) -> int:
    return sum(part.startswith(".") for part in path.parts)


def _expand(path: Location, above: tuple[Path, ...] = ()) -> Iterator[Location]:
    """A file, or the files of a folder, which lies in the folders above."""
    if not path.is_dir():
        _demand_file(path)
        yield path
        return
    above = _with_folder(above, path)
    children: list[Location] = sorted(path.iterdir())
    for child in children:
        companion = is_companion(child.name) and not child.is_dir()
        if not child.name.startswith(".") and not companion:
            yield from _expand(child, above)


def _demand_file(path: Location) -> None:
    # What is broken or forbidden is refused where it is opened.
    if isinstance(path, Path) and path.exists() and not path.is_file():
        raise CorpusError(
            f"{storable(path)} is a pipe or a device, which can be read only once; leave it out, "
            "save it to a file, or send it to standard input (-)."
        )


def _demand_end(pattern: Path) -> None:
    """Refuse a pattern for any number of folders where links make them endless."""
    if ANY_FOLDERS not in pattern.parts:
        return
    first = next(at for at, part in enumerate(pattern.parts) if glob.has_magic(part))
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(Path(*pattern.parts[:first]), ())]
    while waiting:
        folder, above = waiting.pop()
        above = _with_folder(above, folder)
        with suppress(OSError):  # patterns pass over what they may not enter
            waiting += [(child, above) for child in folder.iterdir() if child.is_dir()]


def _with_folder(above: tuple[Path, ...], folder: Location) -> tuple[Path, ...]:
    """The folders above and this one, as they are without links."""
    if not isinstance(folder, Path):
        return above
    real = folder.resolve()
    if real in above:
        raise CorpusError(
            f"{storable(folder)} leads back to a folder that it is in; remove the link, or name "
            "the files."
        )
    return (*above, real)


def is_companion(name: str) -> bool:
    """Whether a file explains its folder: ``README.md``, ``license``, ``LICENSE-texts.txt``."""
    stem = name.split(".")[0]
    # In small letters only the whole name counts: "notice-board.txt" may well be a text.
    first = stem.replace("_", "-").split("-")[0]
    return stem.lower() in COMPANIONS or (first.isupper() and first.lower() in COMPANIONS)


TAR_SUFFIXES = {".tar", ".tgz", ".txz", ".tbz", ".tbz2", ".tzst"}
HEADER_LIMIT = 2**20
"""Bytes of a name or of attributes in a tar file, which are held in memory."""

CHUNK = 2**16

Member = tuple[str, io.BufferedIOBase, io.BufferedReader]
"""Its name, its content, and the archive as it lies on the disk."""


def text_files(path: Location) -> Generator[Lines, None, None]:
    """The text files of `path`, each to be read before the next is asked for.

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
    """Whether a file is compressed, or an archive: it has fewer bytes than its texts."""
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
    """Read to the end: only there a compressed file shows whether it is whole."""
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
    """A header that is damaged or missing is an error; by itself tarfile takes it for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "StrictHeader":
        """The header of one member.

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
