"""Tokenizers of transformers made of plainer ones: of the library tokenizers, or a vocabulary."""

from collections.abc import Mapping
from typing import Any

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

_ROLES = {"pad": "pad", "unk": "unk", "mask": "mask", "cls": "cls", "sep": "sep", "s": "bos"}
_ROLES |= {"/s": "eos", "bos": "bos", "eos": "eos"}
"""Roles of special tokens, by their names in brackets."""


def as_tokenizer(tokenizer: Any) -> PreTrainedTokenizerBase | None:
    """Return a tokenizer of transformers; None of what is no tokenizer and no vocabulary.

    Args:
        tokenizer: Tokenizer of transformers or of the library tokenizers; or a vocabulary, as a
            list of tokens or a mapping from tokens to ids: of words, which blanks separate, or of
            single characters.  Special tokens are known by names such as ``<pad>`` and ``[PAD]``.
    """
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        return tokenizer
    if isinstance(tokenizer, list | tuple):
        tokenizer = {token: number for number, token in enumerate(tokenizer)}
    if isinstance(tokenizer, Mapping):
        special = _special(tokenizer)
        model = WordLevel(dict(tokenizer), unk_token=special.get("unk_token", "<unk>"))
        plain = {*tokenizer} - {*special.values()}
        tokenizer = Tokenizer(model)
        characters = Split(Regex(r"[\s\S]"), "isolated")
        is_of_characters = all(len(token) == 1 for token in plain)
        tokenizer.pre_tokenizer = characters if is_of_characters else WhitespaceSplit()
    if not isinstance(tokenizer, Tokenizer):
        return None
    special = _special(tokenizer.get_vocab())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _special(vocabulary: Mapping[str, int]) -> dict[str, str]:
    """Return the special tokens of a vocabulary, by the arguments that name them."""
    named = {f"<{name}>": role for name, role in _ROLES.items()}
    named |= {f"[{name.upper()}]": role for name, role in _ROLES.items()}
    return {f"{role}_token": token for token, role in named.items() if token in vocabulary}
