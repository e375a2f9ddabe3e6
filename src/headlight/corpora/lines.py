"""Lines of a file, read one at a time, with their limits."""

import io

from headlight.corpora.compression import suffixes
from headlight.corpora.file_kinds import kind_without_text, why_no_text
from headlight.errors import CorpusError
from headlight.files import why_unread

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
    r"""Lines of one file, read one at a time, each with its line break.

    Only ``\n`` ends a line: U+2028 and its like are characters of the text.

    Attributes:
        name: Name of the file, for messages.
        number: Number of the line that was read last, from 1; 0 before the first.
        encoding: Encoding of the file; a reader that knows the format may change it before lines
            are read.

    Args:
        stream: Unpacked text.
        name: Name of the file, for messages.
        file: File as it lies on the disk, which tells how much of it was read; None if unknown.
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
        """Return the next line.

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
        """Return the first line, which stays to be read; empty when there is none."""
        if self._waiting is None:
            self._waiting = self._read()
        return self._waiting

    @property
    def suffix(self) -> str:
        """Return the suffix of the file, without that of its compression: ``".conllu"``."""
        return suffixes(self.name)[0]

    @property
    def bytes_read(self) -> int:
        """Return the number of bytes of the file that were read so far.

        For packed files it is too large by `READ_AHEAD` at most; it is 0 for a stream without a
        file.
        """
        return 0 if self._file is None else self._file.tell()

    @property
    def place(self) -> str:
        """Return file and line, as messages name them: ``"a.txt:12"``."""
        return f"{self.name}:{self.number}"

    def whole(self, content: str, cure: str) -> list[str]:
        """Return all lines, which are one document together.

        Args:
            content: Name of the content of the file, for a refusal.
            cure: Advice on a document that is too long.

        Raises:
            CorpusError: The document is longer than `DOCUMENT_LIMIT` characters.
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
            # One byte beyond the limit shows that a line is too long, and no more of it is read.
            raw = self._stream.readline(LINE_LIMIT + 1)
        except Exception as error:  # the drivers of remote files raise what their libraries raise
            raise CorpusError(
                f"{self.name} cannot be read beyond line {self.number}: {why_unread(error)}; "
                "the file is damaged, cut short, or not what its suffix says."
            ) from error
        if self.number == 0:
            raw = raw.removeprefix(BYTE_ORDER_MARK)  # of UTF-8, as programs of Windows write it
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
        # Zero bytes are valid UTF-8, but mark UTF-16 of Latin letters, or no text at all.
        if b"\0" in raw:
            raise CorpusError(f"{place}: {why_no_text(raw, self.suffix)}.")
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            why = why_no_text(raw, self.suffix, error)
            raise CorpusError(f"{place}: {why}.") from error
