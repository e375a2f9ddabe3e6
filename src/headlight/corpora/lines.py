"""Bytes to numbered lines of text."""

import io

from headlight.corpora.compression import suffixes
from headlight.errors import CorpusError

LINE_LIMIT = 64 * 2**20
"""Bytes in one line.  More is no text, or a file without line breaks."""

DOCUMENT_LIMIT = 64 * 2**20
"""Characters in one document.  More is a file whose documents were never told apart."""

BLANK_LIMIT = 10**6
"""Blank lines that may follow each other.  More is no text: some hundred compressed bytes unfold to
as many, each of which takes its time."""

READ_AHEAD = 2**17
"""Bytes of a packed file that are read before any of them is needed (gzip; others read fewer)."""

_PICTURE, _SOUND = "a picture, and holds no text; leave it out", "sound, and holds no text"
_SAVE = "save it as plain text in UTF-8 and give that"
_TABLE = "save it as JSON lines or CSV and give that"
NO_TEXT = {
    b"%PDF-": f"a PDF; {_SAVE}",
    b"PK\x03\x04": f"an office document such as .docx, or a zip archive of another name; {_SAVE}",
    b"\xd0\xcf\x11\xe0": f"an office document such as .doc; {_SAVE}",
    b"{\\rtf": f"an RTF document; {_SAVE}",
    b"\x89PNG": _PICTURE,
    b"\xff\xd8\xff": _PICTURE,
    b"GIF8": _PICTURE,
    b"II*\0": _PICTURE,
    b"MM\0*": _PICTURE,
    b"RIFFWEBP": _PICTURE,
    b"RIFFWAVE": f"{_SOUND}; name a model of speech, such as openai/whisper-tiny.en",
    b"OggS": f"{_SOUND}; leave it out",
    b"fLaC": f"{_SOUND}; leave it out",
    b"PAR1": f"a Parquet table; {_TABLE}",
    b"SQLite format 3\0": f"an SQLite database; {_TABLE}",
}
"""What files begin with that hold no text, or hold it in a form that is not read here."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def kind_without_text(start: bytes) -> str:
    """Return what a file is that begins so, and what to do; nothing where it may be text."""
    of_riff = start[:4] + start[8:12]  # the size of the file stands between
    kinds = (kind for magic, kind in NO_TEXT.items()
             if start.startswith(magic) or of_riff == magic)  # fmt: skip
    return next(kinds, "")


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

    def _read(self) -> str:
        try:
            raw = self._stream.readline(LINE_LIMIT + 1)
        except Exception as error:  # the drivers of remote files raise what their libraries raise
            raise CorpusError(
                f"{self.name} cannot be read beyond line {self.number}: {error}; "
                "the file is damaged, cut short, or not what its suffix says."
            ) from error
        if self.number == 0:
            raw = raw.removeprefix(BYTE_ORDER_MARK)
            self._demand_text(raw)
        self._count_blank(raw)
        return self._decode(raw, f"{self.name}:{self.number + 1}")

    def _demand_text(self, start: bytes) -> None:
        if kind := kind_without_text(start):
            raise CorpusError(f"{self.name} is {kind}.")

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
            raise CorpusError(
                f"{place}: the file holds binary data or UTF-16, not UTF-8 text; "
                "leave it out, or convert it first with 'iconv -f UTF-16 -t UTF-8'."
            )
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{place}: byte {error.start + 1} of the line is not UTF-8; "
                "convert the file first, for example with 'iconv -f LATIN1 -t UTF-8'."
            ) from error
