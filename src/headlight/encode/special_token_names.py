"""The names of the special tokens that a tokenizer adds to a text."""

from collections.abc import Sequence
from typing import Any

from headlight.encode.assembly import Assembly
from headlight.encode.pieces import Tokenizer
from headlight.vocabulary import CATEGORIES

Names = dict[str, str]
"""Of special tokens, by their category."""


def special_tokens(tokenizer: Tokenizer, decoder_start: int | None = None) -> tuple[Names, Names]:
    """What the special tokens around a text are called, and those around one for the decoder.

    They are read off what the tokenizer itself puts there: of NLLB the source begins with
    ``deu_Latn``, and the target with ``</s> and eng_Latn``.  A category of which nothing is there
    has the name that the tokenizer gives it, if it has one.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        decoder_start: The id with which the decoder begins; without one both are the same.

    Raises:
        UsageError: The tokenizer is slow.
    """
    added = Assembly.of(tokenizer, decoder_start).special_tokens()
    own = _own_names(tokenizer)
    source = own | _names(tokenizer, added.ids, added.categories)
    if not added.target:
        return source, source
    return source, own | _names(tokenizer, added.target, added.target_categories)


def _own_names(tokenizer: Any) -> Names:
    """What the tokenizer calls the special tokens that begin and end a text."""
    named = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {category: str(token) for category, token in named.items() if token}


def _names(tokenizer: Any, ids: Sequence[int], categories: Sequence[int]) -> Names:
    found: dict[str, list[str]] = {}
    for token, category in zip(tokenizer.convert_ids_to_tokens(list(ids)), categories, strict=True):
        names = found.setdefault(CATEGORIES[category], [])
        if token not in names:
            names.append(str(token))
    return {category: " and ".join(names) for category, names in found.items()}
