"""One text, a pair or a picture, as the part of a model reads it for which it is meant."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.picture_prompts import PromptViewer
from headlight.capture.record import LayerRecord
from headlight.chats import Chat, Readable, as_read
from headlight.corpora.text_checks import require_text
from headlight.encode import Encoded, encode_one
from headlight.encode.picture_prompts import EncodedPrompt
from headlight.encode.pictures import EncodedPicture, encode_picture
from headlight.encode.token_ids import TokenIds
from headlight.errors import CaptureError, CorpusError, UsageError, per_door
from headlight.vocabulary import Kinds

T = TypeVar("T")


def one_text(
    model: CapturedModel,
    text: Readable | TokenIds,
    pair: str | None,
    kind: Kinds | None,
    *,
    purpose: str,
    predicts: bool = False,
) -> tuple[CapturedModel, Encoded]:
    """Return the model, or its encoder where a decoder would have nothing to read, and the example.

    Args:
        model: Model that reads the text.
        text: Text to be read, or its ids; a chat, or a list of its messages, is written by the
            template.
        pair: Second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: Attention kind requested, if any in particular.
        purpose: Purpose of the text, for the refusal of a model without a tokenizer.
        predicts: Whether the model is to predict, which no encoder of an encoder-decoder does.

    Raises:
        UsageError: there is no tokenizer, no text or an empty or too long text, a chat that cannot
            be read, no second text where it is needed, or the model reads something else.
    """
    subject = as_read(text)
    if not isinstance(subject, Chat | TokenIds):
        require_text(subject, "text")
    if pair is not None:
        require_text(pair, "second text")
    model = model.reader()
    require_reader(model)
    tokenizer: Any = model.require_tokenizer(purpose)
    if model.has_decoder_inputs and pair is None:
        if predicts:
            raise UsageError(
                f"{model} predicts words of a second text; give what its decoder has read so far."
            )
        if kind in ("decoder", "cross", "all"):
            raise UsageError(f"{kind} attention of {model} needs a second text; give one.")
        model = model.encoder()
    start = model.decoder_start
    example = encode_one(tokenizer, subject, pair, max_length=model.longest, decoder_start=start)
    model.require_positions(example.positions)
    return model, example


def one_picture(
    model: CapturedModel, image: Any, prompt: Readable | None = None
) -> tuple[CapturedModel, EncodedPicture | EncodedPrompt]:
    """Return the model, or its part that reads pictures, and the example.

    Args:
        model: Encoder of pictures, or model with such an encoder.
        image: File, or picture of Pillow.
        prompt: Text that is read beside the picture, by the language model behind the encoder.

    Raises:
        UsageError: the model reads no pictures, or none beside a prompt, the prompt is a chat, or
            the file is no picture that is read here.
        UnsupportedModelError: the positions of the model are not those of patches.
    """
    try:
        if prompt is None:
            model = model.vision()
            return model, encode_picture(image, model.viewer.layout)
        if not isinstance(prompt, str):
            raise UsageError(
                "a picture is read beside one text, and no messages; write them as the template of "
                "the processor does, as one text."
            )
        require_text(prompt, "prompt")
        tokenizer = model.require_tokenizer("a prompt is read")
        language = model.language()
        viewer = PromptViewer.from_model(model.transformer, tokenizer, model.name)
        example = viewer.encode(prompt, image, language.longest)
        return language, example
    except CorpusError as problem:
        raise UsageError(problem.marked()) from problem


def require_reader(model: CapturedModel) -> None:
    """Refuse a model that reads no text by itself: speech, pictures, or texts beside pictures.

    Raises:
        UsageError: the model reads no text by itself.
    """
    model = model.reader()
    if model.hears:
        instead = per_door(
            python="give its method read a WAV file (audio=)",
            command_line="give headlight read a WAV file (--audio)",
            app="read a WAV file elsewhere, as the app takes none",
        )
        raise UsageError(f"{model} reads speech; {instead}, whose transcript the text is.")
    if model.sees:
        instead = per_door(
            python="give its method read a file (image=), or a folder to headlight.survey",
            command_line="give headlight read a file (--image), or headlight survey a folder",
            app="choose one in the place of a text",
        )
        raise UsageError(f"{model} reads pictures; {instead}.")
    needed = model.inputs_beside_text
    if needed:
        raise UsageError(
            f"{model} needs {', '.join(needed)}, which no text gives it; name a model that "
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
        model: Model that reads the text.
        example: Example that the model reads.
        sites: Attention modules to capture, in the order of the result.
        visit: Function called with each record, of a batch of one text.
        query_block: Number of queries of a record; 0 for all, None for as many as memory is meant
            for.
        residual: Whether records say what the output of the attention is added to.

    Raises:
        UnsupportedModelError: the residual is requested, and a layer could not be followed.
        CaptureError: the model computes numbers that are not finite, or memory does not suffice.
    """
    results: list[T] = []
    with model.capture(sites, residual=residual) as recorder:
        recorder.visit = lambda record: results.append(visit(record))
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
    return results


_SIGNS = (
    *("can't allocate memory", "not enough memory", "out of memory", "alloc_failed"),
    "could not create a primitive",
)
"""Messages of PyTorch on CPUs of Linux or macOS, of Windows, on others; of cuBLAS; of oneDNN."""


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error is for want of memory, so that less at once may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in message for sign in _SIGNS)
