"""Groups of tokens by the tags of their words."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.encode import Encoded, EncodedSentence
from headlight.errors import UsageError

NO_TAG = -1


def tag_names(examples: Iterable[Encoded], tags: str | None) -> tuple[str, ...]:
    """Return all parts of speech that occur, in alphabetical order.

    Raises:
        UsageError: The examples are no sentences of a treebank, or these have no such tags.
    """
    if tags is None:
        return ()
    names = {tag for example in examples for tag in _tags_of_words(example, tags)}
    if not names - {"_"}:
        raise UsageError(
            f"the sentences have no tags in {tags!r}; choose the other of upos and xpos, or a "
            "treebank that has them."
        )
    return tuple(sorted(names))


def piece_codes(
    examples: Sequence[Encoded], tags: str, names: Sequence[str], word: Int64[Tensor, "batch token"]
) -> Int64[Tensor, "batch token"]:
    """Return the number of the tag of the word of each piece; −1 for special tokens and padding."""
    numbers = {name: number for number, name in enumerate(names)}
    codes = torch.full_like(word, NO_TAG)
    for row, example in enumerate(examples):
        of_words = [numbers[tag] for tag in _tags_of_words(example, tags)]
        real = word[row] >= 0
        codes[row, real] = word.new_tensor(of_words)[word[row, real]]
    return codes


def _tags_of_words(example: Encoded, tags: str) -> tuple[str, ...]:
    """Return the tags of the words that were kept; refuse an example without such tags."""
    if not isinstance(example, EncodedSentence):
        raise UsageError(
            "parts of speech are known of treebank sentences alone; make the examples with "
            "headlight.encode.sentences."
        )
    word_tags: tuple[str, ...] = getattr(example.sentence, tags)
    if not word_tags:
        raise UsageError(
            f"{example.name}: the sentence has no tags in {tags!r}; choose the other of upos and "
            "xpos, or a treebank that has them."
        )
    return word_tags[: example.kept]
