"""Texts as examples: one each, or windows of long ones."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Literal

import numpy as np
from jaxtyping import Int64

from headlight.chats import Chat, as_read
from headlight.corpora import Document
from headlight.encode.chat_templates import chat_pieces
from headlight.encode.examples import Counts, Encoded, Examples, Recipe
from headlight.encode.pieces import Pieces, Tokenizer, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.encode.token_ids import TokenIds, encode_ids
from headlight.errors import CorpusError, UsageError
from headlight.settings import require_choice

Overflow = Literal["truncate", "split", "error"]
"""Treatment of a document that is too long."""


def texts(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overflow: str = "truncate",
) -> Examples:
    """Return documents as examples, paragraphs joined by a blank; chats by their template.

    Documents in which the tokenizer finds nothing are left out.  `Examples.counts` says how many
    those were, and what was truncated or split.

    Args:
        documents: Documents, usually of `open_corpus`.
        tokenizer: Fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Largest number of tokens in an example, special tokens included.
        overflow: Treatment of a longer document: ``truncate`` keeps its beginning, ``split``
            cuts it into windows that follow each other without overlap, each an example with
            special tokens of its own, and ``error`` refuses it.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a document is too long, and `overflow` is ``error``; or a chat
            cannot be read.
    """
    require_choice("way of dealing with long texts", overflow, Overflow)
    of_texts = Assembly.from_tokenizer(tokenizer)
    of_texts.room(max_length)
    of_chats = of_texts.without_special_tokens()

    def encode(group: list[Document], counts: Counts) -> Iterator[Encoded]:
        for document, text in _pieces(group, tokenizer, counts):
            name, chat = document.name, document.chat
            assembly = of_chats if chat is not None and chat.template else of_texts
            room = assembly.room(max_length)
            if overflow == "error" and len(text) > room:
                raise CorpusError(
                    f"{name}: the document has {len(text) + assembly.single.size} tokens, more "
                    f"than {max_length}; truncate or split it, or allow more."
                )
            yield from _windows(name, text, room, overflow, assembly, counts)

    return Examples(Recipe(documents, attrgetter("paragraphs"), encode, of_texts.marks))


def _pieces(
    group: Sequence[Document], tokenizer: Tokenizer, counts: Counts
) -> Iterator[tuple[Document, Pieces]]:
    joined = [" ".join(document.paragraphs) for document in group if document.chat is None]
    of_texts = iter(tokenise(tokenizer, joined))
    for document in group:
        text = next(of_texts) if document.chat is None else _chat_pieces(tokenizer, document)
        counts.documents += 1
        counts.joined += len(document.paragraphs) > 1
        if len(text):
            yield document, text
        else:
            counts.empty += 1


def _chat_pieces(tokenizer: Tokenizer, document: Document) -> Pieces:
    """Return the pieces of a chat of a corpus."""
    try:
        return chat_pieces(tokenizer, as_read(document.chat))
    except UsageError as problem:
        raise CorpusError(f"{document.name}: {problem.marked()}") from problem


def _windows(
    name: str, text: Pieces, room: int, overflow: str, assembly: Assembly, counts: Counts
) -> Iterator[Encoded]:
    if len(text) <= room:
        yield assembly.encode_text(name, text)
    elif overflow == "truncate":
        counts.truncated += 1
        counts.lost_tokens += len(text) - room
        yield assembly.encode_text(name, text.window(0, room))
    else:
        counts.split += 1
        for number, start in enumerate(range(0, len(text), room)):
            yield assembly.encode_text(f"{name}#{number}", text.window(start, start + room))


def encode_one(
    tokenizer: Tokenizer,
    text: str | Chat | TokenIds,
    pair: str | None = None,
    *,
    max_length: int | None = None,
    decoder_start: int | None = None,
) -> Encoded:
    """Return one text, or two, as an example; nothing is ever cut off.

    Args:
        tokenizer: Fast Hugging Face tokenizer; its own special tokens are added.
        text: First text, or a chat, around which its template puts special tokens of its own, or
            ids, to which nothing is added.
        pair: Second text, which follows the first; see `decoder_start`.
        max_length: Largest number of tokens, special tokens included; with a decoder, on either
            side.
        decoder_start: Id with which the decoder of an encoder-decoder model begins
            (``model.config.decoder_start_token_id``): the second text then becomes the input of
            the decoder, `Encoded.target`.

    Raises:
        UsageError: The tokenizer is slow, a text is empty, too long or not valid Unicode, or a chat
            cannot be read, or has a second text beside it.
    """
    assembly = Assembly.from_tokenizer(tokenizer, decoder_start)
    name = "text"
    if isinstance(text, Chat):
        if pair is not None:
            raise UsageError("a chat is read by itself; leave the second text out.")
        first = chat_pieces(tokenizer, text)
        if text.template:
            assembly = assembly.without_special_tokens()
    elif isinstance(text, str):
        first = _tokenise_one(tokenizer, text, target=False)
    if isinstance(text, TokenIds):
        example = encode_ids(tokenizer, text)
    elif pair is None:
        example = assembly.encode_text(name, first)
    else:
        second = _tokenise_one(tokenizer, pair, target=decoder_start is not None)
        example = assembly.encode_pair(name, first, second)
    length = max(len(example.ids), len(example.target))
    if max_length is not None and length > max_length:
        raise UsageError(f"the text has {length} tokens, more than {max_length}; shorten it.")
    return example


def _tokenise_one(tokenizer: Tokenizer, text: str, *, target: bool) -> Pieces:
    try:
        (pieces,) = tokenise(tokenizer, [text], target=target)
    except (UnicodeEncodeError, TypeError) as error:  # the tokenizers library says TypeError
        raise UsageError("the text is not valid Unicode; write it again.") from error
    if not len(pieces):
        raise UsageError(f"the text {text!r} gives no tokens; write at least one word.")
    return pieces


def count_types(
    examples: Iterable[Encoded], types: int, *, target: bool = False
) -> Int64[np.ndarray, " type"]:
    """Count each type, special tokens included; nothing but the tokenizer runs.

    Args:
        examples: Examples to count in.
        types: Size of the vocabulary.
        target: Whether the input of the decoder is counted instead.
    """
    counts = np.zeros(types, dtype=np.int64)
    for example in examples:
        counts += np.bincount(example.target if target else example.ids, minlength=types)
    return counts
