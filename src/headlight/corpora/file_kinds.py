"""Files that hold no text, or none in a form that is read here, and what to do with each."""

import codecs
import re
from typing import NamedTuple

SOUND = ".wav"
"""Suffix of the sound that is read here."""

CONVERT = "convert it to WAV, for example with 'ffmpeg -i a.mp3 -ar 16000 a.wav'"
_PICTURE = "a picture, and holds no text; leave it out, or name an encoder of pictures"
_SAVE = "save it as plain text in UTF-8 and give that"
_TABLE = "save it as JSON lines or CSV and give that"
_NUMBERS = "and holds no text; leave it out"
_NAME = "give it a name that ends in"


class FileKind(NamedTuple):
    """Kind of a file without text.

    Attributes:
        description: Description of the kind, and advice what to do.
        suffixes: Suffixes of such files, in small letters.
        start: Pattern of their first bytes; where other kinds have it as well, or the file may be
            text all the same, the suffix decides.
    """

    description: str
    suffixes: tuple[str, ...] = ()
    start: bytes = b""


ZIP = rb"PK\x03\x04"
BINARY = (
    FileKind(f"a PDF; {_SAVE}", (".pdf",), b"%PDF-"),
    FileKind(f"an office document such as .doc; {_SAVE}", (".doc", ".ppt", ".xls", ".msg"),
             rb"\xd0\xcf\x11\xe0"),
    FileKind(f"an office document such as .docx, or a zip archive of another name; {_SAVE}",
             (".docx", ".odt", ".pptx", ".odp"), ZIP),
    FileKind(f"a spreadsheet; {_TABLE}", (".xlsx", ".xlsm", ".ods"), ZIP),
    FileKind(f"an e-book; {_SAVE}", (".epub",), ZIP),
    FileKind(f"an archive of arrays of NumPy, {_NUMBERS}", (".npz",), ZIP),
    FileKind(f"a file of PyTorch, {_NUMBERS}", (".pt", ".pth", ".ckpt"), ZIP),
    FileKind(f"an RTF document; {_SAVE}", (".rtf",), rb"\{\\rtf"),
    FileKind(_PICTURE, (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp", ".bmp"),
             rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*|RIFF....WEBP"),
    FileKind("sound, and holds no text; name a model of speech, such as openai/whisper-tiny.en",
             (SOUND,), b"RIFF....WAVE"),
    FileKind(f"sound, and holds no text; leave it out, or {CONVERT}",
             (".mp3", ".ogg", ".opus", ".flac", ".m4a", ".aac", ".aiff", ".wma"),
             rb"ID3[\2-\4]|\xff[\xf1-\xf3\xf9-\xfb]|OggS\0|fLaC|....ftypM4A|FORM....AIF"),
    FileKind("a film, or a picture of a phone, and holds no text; leave it out",
             (".mp4", ".mov", ".mkv", ".webm", ".avi", ".heic", ".avif"),
             rb"....ftyp|\x1aE\xdf\xa3|RIFF....AVI"),
    FileKind("a Parquet table; write hf:parquet: before its path where texts or pairs are read, or "
             f"{_TABLE}", (".parquet",), b"PAR1"),
    FileKind("an Arrow table; write hf:arrow: before its path where texts or pairs are read, and "
             "hf:./FOLDER for a folder that save_to_disk wrote",
             (".arrow", ".feather", ".ipc"), rb"ARROW1|\xff\xff\xff\xff"),
    FileKind(f"a table of an early version of Feather; {_TABLE}", (), b"FEA1"),
    FileKind(f"an SQLite database; {_TABLE}", (".sqlite", ".sqlite3"), rb"SQLite format 3\0"),
    FileKind(f"an array of NumPy, {_NUMBERS}", (".npy",), rb"\x93NUMPY"),
    FileKind(f"weights of a model, {_NUMBERS}", (".safetensors", ".gguf", ".onnx"),
             rb"....\0\0\0\0\{|GGUF"),
    FileKind(f"a file of NetCDF or HDF5, such as the result of a run, {_NUMBERS}",
             (".nc", ".h5", ".hdf5"), rb"\x89HDF|CDF[\1\2]"),
    FileKind(f"a pickle of Python, which could run code and is not opened; {_TABLE}",
             (".pkl", ".pickle", ".joblib"), rb"\x80[\2-\5]"),
    FileKind(f"packed by gzip; {_NAME} .gz", (), rb"\x1f\x8b"),
    FileKind(f"packed by xz; {_NAME} .xz", (), rb"\xfd7zXZ\0"),
    FileKind(f"packed by bzip2; {_NAME} .bz2", (), rb"BZh[1-9]1AY&SY"),
    FileKind(f"packed by zstandard; {_NAME} .zst", (), rb"\x28\xb5\x2f\xfd"),
    FileKind(f"a tar archive; {_NAME} .tar", (), rb".{257}ustar"),
    FileKind("an archive of 7-Zip or RAR; pack its files as .zip or .tar", (".7z", ".rar"),
             rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07"),
)  # fmt: skip
"""Files without text, by their first bytes."""

MARKUP = (
    FileKind("a web page, which is read with its tags", (".html", ".htm", ".xhtml", ".mhtml"),
             rb"(?i)<!doctype html|<html\b"),
    FileKind("XML, which is read with its tags",
             (".xml", ".tei", ".tmx", ".xlf", ".xliff", ".svg", ".rss", ".fb2"), rb"<\?xml\b"),
    FileKind("a notebook, which is read with its JSON and its outputs", (".ipynb",)),
    FileKind("subtitles, which are read with their numbers and times",
             (".vtt", ".srt", ".ass", ".ssa", ".sbv"), rb"WEBVTT\b"),
    FileKind("mail, which is read with its headers", (".eml", ".mbox")),
    FileKind("TeX, which is read with its commands", (".tex", ".bib")),
)  # fmt: skip
"""Text of other programs, by the suffix or the beginning, where nobody has named a format."""

FRONT_MATTER = FileKind(
    "a document that begins with settings between lines of ---, which are read as text",
    (".md", ".markdown", ".mdx", ".qmd", ".rmd", ".rst"),
    rb"---\s*$",
)

LONGEST_START = 512
"""Number of bytes of a file that are examined."""

_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def kind_without_text(start: bytes, suffix: str = "") -> str:
    """Return the description of a file that begins so; empty where it may be text.

    Args:
        start: First bytes, `LONGEST_START` of them where there are as many.
        suffix: Suffix of its name, which tells apart kinds that begin alike.
    """
    kinds = [kind for kind in BINARY if _begins(start, kind)]
    named = [kind for kind in kinds if suffix.lower() in kind.suffixes]
    return next((kind.description for kind in named + kinds), "")


def is_sound(start: bytes) -> bool:
    """Return whether a file that begins so holds sound, in a form that is not read here."""
    return CONVERT in kind_without_text(start)


def why_no_text(raw: bytes, suffix: str, problem: UnicodeDecodeError | None = None) -> str:
    """Return why a line is no text in UTF-8, and what to do.

    Args:
        raw: Line of the file.
        suffix: Suffix of the name of its file.
        problem: Error of decoding, where the line is no UTF-8; None where it is UTF-8 and holds a
            zero byte.
    """
    if kind := next((kind for kind in BINARY if suffix in kind.suffixes), None):
        return f"the file is {kind.description}"
    marked = (name for name, marks in _MARKS.items() if raw.startswith(marks))
    if encoding := next(marked, "UTF-16" if problem is None and _alternates(raw) else None):
        return (
            f"the file is in {encoding}, not UTF-8; convert it first, with "
            f"'iconv -f {encoding} -t UTF-8'"
        )
    if problem is None:
        return "the file holds binary data, and no text; leave it out"
    return (
        f"byte {problem.start + 1} of the line is not UTF-8; convert the file first, for example "
        "with 'iconv -f LATIN1 -t UTF-8'"
    )


def markup_of(first: str, suffix: str) -> str:
    """Return which text of another program a file is; empty for any other file.

    Args:
        first: First line of the file.
        suffix: Suffix of its name.
    """
    start = first.encode("utf-8", "replace").lstrip()
    if suffix in FRONT_MATTER.suffixes and _begins(start, FRONT_MATTER):
        return FRONT_MATTER.description
    kinds = (kind for kind in MARKUP if suffix in kind.suffixes or _begins(start, kind))
    return next((kind.description for kind in kinds), "")


def _begins(start: bytes, kind: FileKind) -> bool:
    return bool(kind.start) and re.match(kind.start, start[:LONGEST_START], re.DOTALL) is not None


def _alternates(raw: bytes) -> bool:
    # Latin letters in UTF-16 have a zero in every other byte.
    lower, higher = sorted(raw[first::2].count(0) / max(len(raw) / 2, 1) for first in (0, 1))
    return lower < 0.5 < higher and len(raw) > 3
