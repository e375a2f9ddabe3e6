"""A text, or two, that someone has typed."""

from headlight.encode.assembly import Assembly
from headlight.encode.encoded import Encoded
from headlight.encode.pieces import Pieces, Tokenizer, tokenised
from headlight.errors import UsageError


def encode_one(
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    *,
    max_length: int | None = None,
    decoder_start: int | None = None,
) -> Encoded:
    """One text, or two, as an example; nothing is ever cut off.

    Args:
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        text: The first text.
        pair: The second one, which follows the first; see `decoder_start`.
        max_length: Tokens at most, special tokens included; with a decoder, on either side.
        decoder_start: For encoder-decoder models, the id with which the decoder begins
            (``model.config.decoder_start_token_id``): the second text then becomes what the
            decoder is given, `Encoded.target`.

    Raises:
        UsageError: The tokenizer is slow, or a text is empty, too long or not valid Unicode.
    """
    assembly = Assembly.of(tokenizer, decoder_start)
    name = "text"
    first = _pieces(tokenizer, text, target=False)
    if pair is None:
        example = assembly.one(name, first)
    else:
        second = _pieces(tokenizer, pair, target=decoder_start is not None)
        example = assembly.two(name, first, second)
    length = max(len(example.ids), len(example.target))
    if max_length is not None and length > max_length:
        raise UsageError(f"the text has {length} tokens, more than {max_length}; shorten it.")
    return example


def _pieces(tokenizer: Tokenizer, text: str, *, target: bool) -> Pieces:
    try:
        (pieces,) = tokenised(tokenizer, [text], target=target)
    except (UnicodeEncodeError, TypeError) as error:  # the tokenizers library says TypeError
        raise UsageError("the text is not valid Unicode; write it again.") from error
    if not len(pieces):
        raise UsageError(f"the text {text!r} gives no tokens; write at least one word.")
    return pieces
