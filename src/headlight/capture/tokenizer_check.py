"""Check of a tokenizer, that its model can read with it, before any text is read."""

from typing import Any

from torch import nn

from headlight.errors import ModelError

_UNLIKELY = "a \ue000\U0010fffd"
"""Text with characters that no vocabulary has."""

_IN_EVERY_TEXT = ("cls", "sep", "bos", "eos", "unk", "pad", "mask")


def require_fitting(tokenizer: Any, network: nn.Module, name: str) -> None:
    """Refuse a tokenizer that would fail in the middle of a corpus.

    Raises:
        ModelError: the model has no vectors for some tokens, a text cannot be encoded, or the
            longest length is no number.
    """
    longest = tokenizer.model_max_length
    if not isinstance(longest, int | float):
        raise ModelError(
            f"model_max_length in the tokenizer of {name} is {longest!r}, which is no number; "
            "correct tokenizer_config.json."
        )
    beyond = _tokens_beyond(tokenizer, network)
    if beyond:
        raise ModelError(
            f"the tokenizer of {name} has {len(beyond)} tokens for which the model has no vector "
            f"({beyond[0]!r}, say); give the model its own tokenizer, or resize_token_embeddings."
        )
    try:
        tokenizer(_UNLIKELY)
    except Exception as problem:  # the tokenizers library raises nothing more precise
        reason = str(problem).strip().partition("\n")[0].rstrip(". ")
        raise ModelError(
            f"the tokenizer of {name} cannot encode every text ({reason}); give it a token for "
            "unknown words."
        ) from problem


def _tokens_beyond(tokenizer: Any, network: Any) -> list[str]:
    """Return the tokens that a text may have and the model cannot look up.

    Some models ship special tokens without vectors, for pictures, say, which no text has.
    """
    try:
        rows = network.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):  # models of other inputs, or of several
        return []
    beyond = {token: number for token, number in tokenizer.get_vocab().items() if number >= rows}
    added = tokenizer.added_tokens_decoder
    used = {getattr(tokenizer, f"{token_name}_token_id", None) for token_name in _IN_EVERY_TEXT}
    return sorted(
        token
        for token, number in beyond.items()
        if number in used or not (number in added and added[number].special)
    )
