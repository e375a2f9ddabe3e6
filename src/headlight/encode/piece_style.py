"""Style in which a tokenizer's vocabulary writes the pieces of a text."""

from typing import Any

from headlight.encode.pieces import Tokenizer
from headlight.encode.word_boundaries import with_words

_SIGNS = {
    "byte-level": '"ByteLevel"',
    "sentencepiece": "▁",
    "wordpiece": '"WordPiece"',
    "end-of-word": "</w>",
}
"""What the decoder or the splitter of such a tokenizer holds."""


def piece_style(tokenizer: Tokenizer) -> str:
    """``byte-level``, ``sentencepiece``, ``wordpiece``, ``end-of-word``, or nothing if unknown.

    `headlight.findings.piece_text` shows pieces by it.
    """
    known: Any = with_words(tokenizer)
    if known is not tokenizer:  # a slow one that marks where words begin
        return "sentencepiece"
    backend = getattr(known, "backend_tokenizer", None)
    parts = [getattr(backend, name, None) for name in ("decoder", "pre_tokenizer")]
    written = "".join(part.__getstate__().decode() for part in parts if part is not None)
    if type(getattr(backend, "model", None)).__name__ == "WordPiece":
        return "wordpiece"
    return next((style for style, sign in _SIGNS.items() if sign in written), "")
