"""Pieces of a text by any tokenizer: vocabulary ids without special tokens, each of a word."""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64
from tokenizers.models import BPE

from headlight.encode.slow_tokenizers import with_words
from headlight.errors import CorpusError, UsageError

WORD = re.compile(r"\S+")
SPECIAL_WORD = -1
"""Value in the place of the number of a word."""


@runtime_checkable
class Tokenizer(Protocol):
    """Part of a Hugging Face tokenizer that is used here."""

    is_fast: bool

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Tokenise texts."""

    # Tokenizers look ids up here; Python 3.12 and newer would miss them as attributes.
    def __getattr__(self, name: str) -> Any:
        """Return the id of a special token, as ``cls_token_id``, or None."""


STRETCH = 2**18
"""Characters that a tokenizer is given at once, to the next blank; it takes some 250 bytes of
memory for each."""

CONTEXT = 2**10
"""Characters before and after a stretch that the tokenizer sees with it."""

LONGEST_WORD = 2**20
"""Characters without a blank, or blanks, of which a text may hold this many in a row."""

BREAK = re.compile(r"(?<=\S)(?=\s)")


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """Encoding of one text by a tokenizer.

    Attributes:
        ids: Vocabulary ids.
        offsets: First character of every piece, and the one after its last.
    """

    ids: Sequence[int]
    offsets: Int64[np.ndarray, "piece 2"]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Text without the special tokens that a tokenizer adds.

    Attributes:
        ids: Vocabulary ids.
        words: Number of the word of every piece, from 0; -1 for a special token.
        word_count: Number of words in the text.
        segment_names: Segment of every piece, where a text has named segments.
    """

    ids: Sequence[int]
    words: Sequence[int]
    word_count: int
    segment_names: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def window(self, start: int, stop: int) -> "Pieces":
        """Return the pieces from `start` to before `stop`; words count from the first one kept."""
        words_of_window = self.words[start:stop]
        first = next((word for word in words_of_window if word >= 0), 0) if start else 0
        last = self.word_count if stop >= len(self) else max(words_of_window, default=first - 1) + 1
        words = tuple(word - first if word >= 0 else word for word in words_of_window)
        names = self.segment_names[start:stop]
        return Pieces(self.ids[start:stop], words, max(last - first, 0), names)


def require_fast(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that does not say which characters a piece came from.

    Raises:
        UsageError: The tokenizer is a slow one.
    """
    if not tokenizer.is_fast:
        raise UsageError(
            f"the tokenizer {type(tokenizer).__name__} is a slow one, which neither tells nor "
            "marks where its pieces are in the text; use a fast one (a model with a "
            "tokenizer.json)."
        )


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the special tokens that a text may hold written out, but for the mask.

    A mask is written to be predicted, and stands for a word.
    """
    marked = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    excepted = {unknown_id(tokenizer), tokenizer.mask_token_id}
    return frozenset({*tokenizer.all_special_ids, *marked} - excepted)


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id of text that a tokenizer does not know, if it stands for nothing else."""
    names = ("unk", "cls", "sep", "bos", "eos", "pad")
    unknown, *others = (getattr(tokenizer, f"{name}_token_id", None) for name in names)
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    knows_all = isinstance(model, BPE) and model.unk_token is None  # it is never made of a text
    return None if unknown in others or knows_all else unknown


def tokenise(
    tokenizer: Tokenizer, texts: Sequence[str], *, target: bool = False, special_apart: bool = True
) -> list[Pieces]:
    """Return the pieces of every text.

    Args:
        tokenizer: Fast tokenizer.
        texts: Texts as they are; text that looks like a special token (``[MASK]``) becomes one if
            the tokenizer is set so, which is its default.
        target: Whether texts are tokenised as text for a decoder (``text_target=``).
        special_apart: Whether a special token that is written in a text belongs to no word; else
            blanks alone separate words, as links number them.
    """
    special = special_ids(tokenizer) if special_apart else frozenset()
    return [
        pieces_of_encoding(text, encoding, special)
        for text, encoding in zip(texts, encodings(tokenizer, texts, target=target), strict=True)
    ]


def pieces_of_encoding(text: str, encoding: Encoding, special: frozenset[int]) -> Pieces:
    """Return the pieces of a text, of which special ones belong to no word."""
    pieces = Pieces(encoding.ids, *_words(text, encoding.offsets))
    return pieces if special.isdisjoint(pieces.ids) else _set_special_apart(pieces, special)


def encodings(
    tokenizer: Tokenizer, texts: Sequence[str], *, target: bool = False
) -> list[Encoding]:
    """Encode the texts without special tokens; see `tokenise`.

    The pieces of a text depend on what is near.  So a text that is longer than `STRETCH` is given
    to the tokenizer in stretches, each with some context, of which only its own pieces are kept:
    they are those of the whole text, for which the tokenizer would take 250 times its size.

    Raises:
        CorpusError: A text has no break between words for longer than `LONGEST_WORD`.
    """
    tokenizer = with_words(tokenizer)
    short = iter(_encode(tokenizer, [text for text in texts if len(text) <= STRETCH], target))
    return [
        next(short) if len(text) <= STRETCH else _encode_in_stretches(tokenizer, text, target)
        for text in texts
    ]


def _encode(tokenizer: Tokenizer, texts: Sequence[str], target: bool) -> list[Encoding]:
    """Encode texts in one call of the tokenizer."""
    if not texts:
        return []
    # Not `verbose`: transformers would warn of texts that are too long, which are cut later.
    place = "text_target" if target else "text"
    batch = tokenizer(
        **{place: list(texts)},
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    return [
        Encoding(tuple(encoding.ids), np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2))
        for encoding in batch.encodings
    ]


def _encode_in_stretches(tokenizer: Tokenizer, text: str, target: bool) -> Encoding:
    ids = array("i")
    offsets = []
    before = 0
    for start, stop in _stretches(text):
        first = _break(text, max(start - CONTEXT, before))
        # Without a break so near, as in a very long word, the stretch before is the context.
        first = first if first < start else before
        last = _break(text, stop + CONTEXT)
        (encoding,) = _encode(tokenizer, [text[first:last]], target)
        places = encoding.offsets + first
        # A blank at the end of the text may be said to begin behind it.
        inside = (places[:, 0] >= start) & ((places[:, 0] < stop) | (stop == len(text)))
        ids.extend(np.asarray(encoding.ids, dtype=np.int64)[inside].tolist())
        offsets.append(places[inside])
        before = start
    return Encoding(ids, np.concatenate(offsets))


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each stretch: before a blank that follows a word."""
    start = 0
    while start < len(text):
        stop = _break(text, start + STRETCH)
        if stop - start > STRETCH + LONGEST_WORD:
            raise CorpusError(
                f"the text that begins with {text[:40]!r} has no break between words for more than "
                f"{LONGEST_WORD:,} characters; leave it out, or break it into lines."
            )
        yield start, stop
        start = stop


def _break(text: str, start: int) -> int:
    match = BREAK.search(text, start)
    return match.start() if match else len(text)


def _words(text: str, offsets: Int64[np.ndarray, "piece 2"]) -> tuple[Sequence[int], int]:
    """Return the word of the first non-blank character of each piece, and the number of words.

    Blanks alone separate words, so that corpora that come tokenised keep their tokens.  A piece
    may begin with the blank before its word, and several pieces may share one character; a piece
    of blanks alone belongs to the word after it, or to the last.
    """
    ends = np.fromiter((match.end() for match in WORD.finditer(text)), dtype=np.int64)
    words = np.searchsorted(ends, offsets[:, 0], side="right")
    last = np.minimum(words, max(len(ends) - 1, 0))
    return array("i", last.astype(np.intc).tobytes()), len(ends)  # "i" and intc are both C's int


def _set_special_apart(pieces: Pieces, special: frozenset[int]) -> Pieces:
    """Return the pieces; each special token belongs to no word, and ends the word before it."""
    words = array("i")
    number, before = -1, None
    for token, word in zip(pieces.ids, pieces.words, strict=True):
        if token in special:
            words.append(SPECIAL_WORD)
            before = None
        else:
            number += word != before
            words.append(number)
            before = word
    return Pieces(pieces.ids, words, number + 1)


_SIGNS = {
    "byte-level": '"ByteLevel"',
    "sentencepiece": "▁",
    "wordpiece": '"WordPiece"',
    "end-of-word": "</w>",
}
"""Signs in the decoder or the splitter of a tokenizer, by its style."""


def piece_style(tokenizer: Tokenizer) -> str:
    """Return the style in which a vocabulary writes pieces; empty if unknown.

    It is ``byte-level``, ``sentencepiece``, ``wordpiece`` or ``end-of-word``;
    `headlight.findings.piece_text` shows pieces by it.
    """
    fast: Any = with_words(tokenizer)
    if fast is not tokenizer:  # a slow one that marks where words begin
        return "sentencepiece"
    backend = getattr(fast, "backend_tokenizer", None)
    parts = [getattr(backend, name, None) for name in ("decoder", "pre_tokenizer")]
    written = "".join(part.__getstate__().decode() for part in parts if part is not None)
    if type(getattr(backend, "model", None)).__name__ == "WordPiece":
        return "wordpiece"
    return next((style for style, sign in _SIGNS.items() if sign in written), "")
