"""Tokenizers of transformers made of plainer ones: of the library tokenizers, or a vocabulary."""

from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

_SPECIAL = {
    "pad_token": ("<pad>", "[PAD]"),
    "unk_token": ("<unk>", "[UNK]"),
    "mask_token": ("<mask>", "[MASK]"),
}
"""Names of special tokens; those around a text are known by their places."""


def as_tokenizer(tokenizer: Any) -> PreTrainedTokenizerBase | None:
    """Return a tokenizer of transformers; None of what is no tokenizer and no vocabulary.

    Args:
        tokenizer: Tokenizer of transformers or of the library tokenizers; or a vocabulary of
            words, which blanks separate, as a list of tokens or a mapping from tokens to ids.
    """
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        return tokenizer
    if isinstance(tokenizer, list | tuple):
        tokenizer = {token: number for number, token in enumerate(tokenizer)}
    if isinstance(tokenizer, Mapping) and all(
        isinstance(token, str) and isinstance(number, int) for token, number in tokenizer.items()
    ):
        unknown = next((name for name in _SPECIAL["unk_token"] if name in tokenizer), "")
        tokenizer = Tokenizer(WordLevel(dict(tokenizer), unk_token=unknown))
        tokenizer.pre_tokenizer = WhitespaceSplit()
    if not isinstance(tokenizer, Tokenizer):
        return None
    known = tokenizer.get_vocab()
    special = {role: name for role, names in _SPECIAL.items() for name in names if name in known}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
