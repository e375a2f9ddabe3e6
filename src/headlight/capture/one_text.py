"""One text, or a pair, as the part of a model reads it that the text is meant for."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from headlight.capture.captured_model import CapturedModel
from headlight.capture.record import AttentionSite, LayerRecord
from headlight.corpora.text import require_text
from headlight.encode import Encoded, encode_one
from headlight.errors import CaptureError, UsageError
from headlight.vocabulary import Kinds

T = TypeVar("T")


def one_text(
    model: CapturedModel,
    text: str,
    pair: str | None,
    kind: Kinds | None,
    *,
    purpose: str,
    predicts: bool = False,
) -> tuple[CapturedModel, Encoded]:
    """The model, or its encoder where a decoder would have nothing to read, and the example.

    Args:
        model: the model.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: the attention that is asked for, if any in particular.
        purpose: what needs the text, for the refusal of a model without a tokenizer.
        predicts: whether the model is to predict, which no encoder of an encoder-decoder does.

    Raises:
        UsageError: no tokenizer, no text or one that is empty or too long, messages of a chat, no
            second text where one is needed, or the model reads something else.
    """
    require_text(text, "text")
    if pair is not None:
        require_text(pair, "second text")
    require_reader(model)
    tokenizer: Any = model.require_tokenizer(purpose)
    if model.has_decoder_inputs and pair is None:
        if predicts:
            raise UsageError(
                f"{model.name} predicts words of a second text; give what its decoder has read so "
                "far."
            )
        if kind in ("decoder", "cross", "all"):
            raise UsageError(f"{kind} attention of {model.name} needs a second text; give one.")
        model = model.encoder()
    start = model.decoder_start
    example = encode_one(tokenizer, text, pair, max_length=model.longest, decoder_start=start)
    return model, example


def require_reader(model: CapturedModel) -> None:
    """Refuse a model that reads no text by itself: speech, pictures, or texts beside pictures.

    Raises:
        UsageError: it is one.
    """
    if model.hears:
        raise UsageError(
            f"{model.name} hears speech: give --audio FILE.wav (audio=) to `headlight read`; the "
            "text is its transcript."
        )
    needed = model.inputs_beside_text
    if needed:
        raise UsageError(
            f"{model.name} needs {', '.join(needed)}, which no text gives it; name a model that "
            "reads text alone."
        )


def capture_one(
    model: CapturedModel,
    example: Encoded,
    sites: Sequence[AttentionSite],
    visit: Callable[[LayerRecord], T],
    query_block: int | None = 0,
    *,
    residual: bool = False,
) -> list[T]:
    """Return the results of `visit` on the attention of each layer, for one text alone.

    Each layer is visited as soon as it has run, and let go before the next.

    Args:
        model: the model.
        example: what it reads.
        sites: which attention modules, in the order of the result.
        visit: is given a record of a batch of one text.
        query_block: queries of a record: this many, 0 for all, None as many as memory is meant for.
        residual: whether records say what the output of the attention is added to.

    Raises:
        UnsupportedModelError: the residual is asked for, and a layer could not be followed.
        CaptureError: what the model computes is not finite, or memory does not suffice.
    """
    found: list[T] = []
    with model.capture(sites, residual=residual) as recorder:
        recorder.visit = lambda record: found.append(visit(record))
        recorder.query_block = query_block
        try:
            model.run(model.collate([example]))
        except (RuntimeError, MemoryError) as problem:
            if not out_of_memory(problem):
                raise
            tokens = len(example.ids) + len(example.target)
            raise CaptureError(
                f"memory does not suffice for this text of {tokens} tokens; shorten it, or choose "
                "some layers, heads or queries."
            ) from problem
    return found


_SIGNS = (
    *("can't allocate memory", "not enough memory", "out of memory", "alloc_failed"),
    "could not create a primitive",
)
"""What PyTorch says on a CPU of Linux or macOS, on one of Windows, on others; cuBLAS; oneDNN."""


def out_of_memory(error: BaseException) -> bool:
    """Whether less at once may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in message for sign in _SIGNS)
