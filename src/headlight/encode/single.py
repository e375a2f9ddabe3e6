"""One text per example."""

from collections.abc import Iterable, Iterator

from headlight.corpora import Document
from headlight.encode.assembly import Assembly
from headlight.encode.encoded import Encoded
from headlight.encode.examples import Counts, Examples, grouped, paragraphs
from headlight.encode.pieces import Pieces, Tokenizer, tokenised
from headlight.errors import CorpusError, UnknownNameError

OVERFLOWS = ("truncate", "split", "error")


def texts(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overflow: str = "truncate",
) -> Examples:
    """Every document as one example, its paragraphs joined by a blank.

    Documents in which the tokenizer finds nothing are left out.  `Examples.counts` says how many
    those were, and what was truncated or split.

    Args:
        documents: Usually a `Corpus`.
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Tokens in an example at most, special tokens included.
        overflow: What becomes of a longer document: ``truncate`` keeps its beginning, ``split``
            cuts it into windows that follow each other without overlap, each an example with
            special tokens of its own, and ``error`` refuses it.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a document is too long, and `overflow` is ``error``.
    """
    if overflow not in OVERFLOWS:
        raise UnknownNameError("way of dealing with long texts", overflow, OVERFLOWS)
    assembly = Assembly.of(tokenizer)
    room = assembly.room(max_length)

    def make(counts: Counts) -> Iterator[Encoded]:
        for name, text in _pieces(documents, tokenizer, counts):
            if overflow == "error" and len(text) > room:
                raise CorpusError(
                    f"{name}: the document has {len(text) + assembly.single.size} tokens, more "
                    f"than {max_length}; truncate or split it, or allow more."
                )
            yield from _windows(name, text, room, overflow, assembly, counts)

    return Examples(make)


def _pieces(
    documents: Iterable[Document], tokenizer: Tokenizer, counts: Counts
) -> Iterator[tuple[str, Pieces]]:
    for group in grouped(documents, paragraphs):
        joined = [" ".join(document.paragraphs) for document in group]
        for document, text in zip(group, tokenised(tokenizer, joined), strict=True):
            counts.documents += 1
            if len(text):
                yield document.name, text
            else:
                counts.empty += 1


def _windows(
    name: str, text: Pieces, room: int, overflow: str, assembly: Assembly, counts: Counts
) -> Iterator[Encoded]:
    if len(text) <= room:
        yield assembly.one(name, text)
    elif overflow == "truncate":
        counts.truncated += 1
        counts.lost_tokens += len(text) - room
        yield assembly.one(name, text.window(0, room))
    else:
        counts.split += 1
        for number, start in enumerate(range(0, len(text), room)):
            yield assembly.one(f"{name}#{number}", text.window(start, start + room))
