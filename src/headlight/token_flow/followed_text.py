"""Text that is followed, in the stack that reads it."""

from dataclasses import dataclass, replace

from headlight.capture import AttentionSite, CapturedModel
from headlight.capture.one_text import one_text
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.errors import UsageError
from headlight.vocabulary import Kind


@dataclass(frozen=True, eq=False)
class Subject:
    """One text in the stack that reads it.

    Attributes:
        model: Model that runs.
        example: Example that the model reads.
        kind: Kind of its attention.
        sites: Attention sites of that kind, layer by layer.
    """

    model: CapturedModel
    example: Encoded
    kind: Kind
    sites: list[AttentionSite]


def subject_of(
    model: CapturedModel,
    text: Readable | Encoded,
    pair: str | None = None,
    kind: Kind | None = None,
) -> Subject:
    """Return the text, in the encoder alone if the model has a decoder that reads another text.

    Args:
        model: Model that reads the text.
        text: Text to be read, or an example.
        pair: Second text.
        kind: ``encoder`` or ``decoder``; by default the first kind that the model has.

    Raises:
        UsageError: there is no tokenizer, the text is empty or too long, the model has no such
            kind, or cross-attention is requested.
    """
    model = model.reader()
    chosen = kind or model.kinds[0]
    if chosen == "cross" or (chosen == "decoder" and "cross" in model.kinds):
        raise UsageError(
            f"tokens are followed through one text; {chosen} attention of {model} stands "
            "beside another. Take kind encoder."
        )
    if isinstance(text, Encoded):
        example = text
    else:
        model, example = one_text(model, text, pair, chosen, purpose="maps of tokens need text")
    if model.has_decoder_inputs:
        model = model.encoder()
        example = replace(example, target=(), target_categories=(), target_words=())
    return Subject(model, example, chosen, model.sites_of(chosen))
