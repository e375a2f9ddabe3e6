"""One text, or a pair, as the part of a model reads it that the text is meant for."""

from typing import Any

from headlight.capture.record import Kind
from headlight.capture.subject import Subject
from headlight.encode import Encoded, encode_one
from headlight.errors import UsageError


def one_text(
    subject: Subject, text: str, pair: str | None, kind: Kind | None, *, purpose: str
) -> tuple[Subject, Encoded]:
    """The model, or its encoder where a decoder would have nothing to read, and the example.

    Args:
        subject: the model.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: the attention that is asked for, if any in particular.
        purpose: what needs the text, for the refusal of a model without a tokenizer.

    Raises:
        UsageError: no tokenizer, an empty or too long text, or no second text where one is needed.
    """
    if subject.tokenizer is None:
        raise UsageError(f"{subject.name} has no tokenizer, and {purpose}.")
    if subject.has_decoder_inputs and pair is None:
        if kind in ("decoder", "cross"):
            raise UsageError(f"{kind} attention of {subject.name} needs a second text; give one.")
        subject = subject.encoder()
    tokenizer: Any = subject.tokenizer
    start = subject.decoder_start
    example = encode_one(tokenizer, text, pair, max_length=subject.longest, decoder_start=start)
    return subject, example
