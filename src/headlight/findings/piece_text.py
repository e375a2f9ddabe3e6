"""Pieces of a vocabulary as the text that they stand for in a document.

Vocabularies write more than the text: ``Ġ`` or ``▁`` for the blank before a word, ``##`` before
what goes on with one, bytes as letters of their own, ``Ċ`` for the end of a line.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from headlight.files import printable

BLANK, INSIDE = " ", "##"
_SPACE = "␣"
"""Sign for a blank that is all of a piece, or an end of it."""
_LINES = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})
_SENTENCEPIECE = "▁"
_ENDING = "</w>"


@dataclass(frozen=True, slots=True)
class PieceText:
    """Piece as it is shown.

    Attributes:
        mark: Blank if the piece holds the blank before it, ``##`` if it goes on with a word, or
            nothing.
        text: Text without the mark; other blanks are made visible.
    """

    mark: Literal["", " ", "##"]
    text: str

    @property
    def label(self) -> str:
        """Return the label of a piece that stands by itself, safe for a terminal."""
        return printable(f"{INSIDE if self.mark == INSIDE else ''}{self.text}")


def piece_text(piece: str, style: str = "") -> PieceText:
    """Return the text of a piece.

    Args:
        piece: Piece as the vocabulary writes it.
        style: Style of the vocabulary, as `headlight.encode.pieces` names it; if it is unknown,
            ``##`` and ``▁`` are taken for marks.
    """
    if style == "byte-level":
        return _with_blank(_decoded(piece))
    if style == "end-of-word":
        return PieceText("", piece.removesuffix(_ENDING) or piece)
    if style != "sentencepiece" and piece.startswith(INSIDE) and piece != INSIDE:
        return PieceText("##", piece.removeprefix(INSIDE))
    if style != "wordpiece" and _SENTENCEPIECE in piece:
        return _with_blank(piece.replace(_SENTENCEPIECE, " "))
    if style == "sentencepiece" and len(piece) == len("<0x0A>") and piece.startswith("<0x"):
        return _with_blank(bytes([int(piece[3:5], 16)]).decode(errors="backslashreplace"))
    return PieceText("", piece)


def _with_blank(text: str) -> PieceText:
    """Take one blank before a word for a mark, and show those at the ends."""
    mark: Literal["", " "] = " " if text.startswith(" ") and text.strip() else ""
    text = text.removeprefix(mark)
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    ends = len(before) * _SPACE, len(after) * _SPACE
    return PieceText(mark, inner.translate(_LINES).join(ends))


def _decoded(piece: str) -> str:
    r"""Decode the bytes that letters of a byte-level vocabulary stand for.

    Bytes that are no whole character are written as ``\xf0``; a piece with other letters, such as
    an added token, is text already.
    """
    letters = _byte_letters()
    if not all(letter in letters for letter in piece):
        return piece
    return bytes(letters[letter] for letter in piece).decode(errors="backslashreplace")


@cache
def _byte_letters() -> dict[str, int]:
    """Return the byte of each letter in GPT-2's vocabulary: its own code where it is printable."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    named = {chr(byte): byte for byte in plain}
    return named | {chr(0x100 + at): byte for at, byte in enumerate(others)}
