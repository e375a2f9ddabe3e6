"""Parts of speech of the tokens of a batch."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.encode import Encoded, EncodedSentence
from headlight.errors import UsageError
from headlight.vocabulary import CATEGORIES

GROUPS = ("all", *CATEGORIES)
"""Groups of tokens that every text has; those of parts of speech come after them."""

NO_TAG = -1


def tag_names(examples: Iterable[Encoded], tags: str | None) -> tuple[str, ...]:
    """All parts of speech that occur, in alphabetical order.

    Raises:
        UsageError: the examples are no sentences of a treebank, or these have no such tags.
    """
    if tags is None:
        return ()
    found = {tag for example in examples for tag in _of_words(example, tags)}
    if not found - {"_"}:
        raise UsageError(
            f"the sentences have no tags in {tags!r}; choose the other of upos and xpos, or a "
            "treebank that has them."
        )
    return tuple(sorted(found))


def word_codes(
    examples: Sequence[Encoded], tags: str, names: Sequence[str], device: torch.device
) -> Int64[Tensor, "batch word"]:
    """The number of the tag of each word; −1 beyond the last."""
    codes = {name: code for code, name in enumerate(names)}
    rows = [[codes[tag] for tag in _of_words(example, tags)] for example in examples]
    width = max(map(len, rows))
    padded = [row + [NO_TAG] * (width - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64, device=device)


def piece_codes(
    words: Int64[Tensor, "batch word"], word: Int64[Tensor, "batch token"]
) -> Int64[Tensor, "batch token"]:
    """The number of the tag of the word of each piece; −1 for special tokens and padding."""
    found = words.gather(1, word.clamp(0, words.shape[1] - 1))
    return found.where(word >= 0, NO_TAG)


def _of_words(example: Encoded, tags: str) -> tuple[str, ...]:
    """Tags of the words that were kept.

    Raises:
        UsageError: the example is no sentence of a treebank, or has no such tags.
    """
    if not isinstance(example, EncodedSentence):
        raise UsageError(
            "parts of speech are known of treebank sentences alone; make the examples with "
            "headlight.encode.sentences."
        )
    found: tuple[str, ...] = getattr(example.sentence, tags)
    if not found:
        raise UsageError(
            f"{example.name}: the sentence has no tags in {tags!r}; choose the other of upos and "
            "xpos, or a treebank that has them."
        )
    return found[: example.kept]
