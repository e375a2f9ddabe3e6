"""The question `read`: a text, two, ids, a recording with its transcript, or a picture."""

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, cast

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_picture, one_text
from headlight.catalogue.question_settings import ReadingSettings
from headlight.chats import Readable
from headlight.corpora.pictures import picture_address
from headlight.encode.picture_prompts import EncodedPrompt
from headlight.encode.token_ids import TokenIds
from headlight.errors import UsageError
from headlight.findings.phrases import listed
from headlight.reading.example import Progress, read_example
from headlight.reading.question_functions import answers
from headlight.reading.reading import Reading
from headlight.reading.speech import read_speech


@answers("read")
def read(  # noqa: PLR0913 - what can be read, and how it is asked
    model: CapturedModel,
    text: Readable | None = None,
    pair: str | None = None,
    *,
    audio: str | Path | None = None,
    image: Any = None,
    ids: Sequence[int] | None = None,
    prompt: int | None = None,
    attention_mask: Sequence[int] | None = None,
    position_ids: Sequence[int] | None = None,
    settings: ReadingSettings,
    command: str | None = None,
    progress: Progress | None = None,
) -> Reading:
    """Read one text, or a pair, and keep every measure of every head.

    Args:
        model: the model.
        text: text, or a list of messages as a chat, which the template of the tokenizer writes, and
            whose tokens have named segments; of a recording its transcript, by default the model's
            own.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        audio: WAV file, for a model of speech; see `headlight.reading.speech.read_speech`.
        image: picture, as a file or a picture of Pillow: in a model of both pictures and text, its
            encoder of pictures reads the picture alone, and its language model reads it beside a
            text.
        ids: token ids in the place of a text, such as those that a server generated; none are
            added.
        prompt: number of first ids that were the prompt; segments then tell it from the ``answer``.
        attention_mask: 1 for each id that is read, 0 for padding before and after them, which does
            not appear.
        position_ids: position of each id; by default those that are read count from 0.
        settings: settings of the reading; users name each by itself.
        command: command of the request, for the record.
        progress: function that is told of finished layers.

    Returns:
        Reading, whose ``dataset`` holds, over layer, head, query (the attending token) and key.

        - ``weight``, ``norm``, ``effective`` (layer × head × query × key): α, ‖αf(x)‖ and A⊥
        - ``merged_norm`` (layer × query × key): norm of the sum of all heads
        - ``block_norm``, ``layer_norm`` (layer × query × key): with the residual connection, and
          behind its norm, with `residual`
        - ``attribution`` (layer × query × key): contributions to hidden tokens, with `attribution`
        - ``vector_norm`` (layer × head × key), ``input_norm`` (layer × key): ‖f(x)‖ and ‖x‖
        - ``entropy`` (layer × head × query): of the weights, in nats
        - ``rank`` (layer × head): rank of T
        - ``head_number`` (statistic × measure × layer × head), ``head_rows`` (statistic):
          statistics of each head, and the number of rows behind each

        With all kinds of attention, ``kind`` is a first dimension.

    Raises:
        UsageError: nothing to read, no tokenizer, an empty or too long text, ids that are not those
            of the model, of another number than their mask, or with a hole in it, a file that is no
            recording or no picture, a picture beside a text by a model that does not read it so, no
            such kind, layer, head or position, or contributions of all kinds at once.
        UnsupportedModelError: the attention of the model cannot be captured exactly, or a layer
            whose residual is requested could not be followed.
    """
    of_ids = (ids, prompt, attention_mask, position_ids)
    given = None if all(part is None for part in of_ids) else TokenIds.of(*of_ids)
    if given is None:
        settings.require_subject(text, pair, audio=audio, image=image)
    elif any(other is not None for other in (text, pair, audio, image)):
        raise UsageError("token ids are read alone; leave texts, recordings and pictures out.")
    if audio is not None:
        transcript = cast("str | None", text)
        return read_speech(model, audio, transcript, settings, command=command, progress=progress)
    about: dict[str, Any] = {"pair": pair or "", "command": command or ""}
    if image is not None:
        model, example = one_picture(model, image, text)
        picture = (
            example.image if isinstance(example, EncodedPrompt) else model.viewer.shown(example)
        )
        about |= {"text": text or PurePath(example.name).name, "image": example.name}
        about["picture"] = picture_address(picture)
        return read_example(model, example, settings, attributes=about, progress=progress)
    model, subject = model.reader(), given or cast("Readable", text)
    about |= {"other_kinds": "" if settings.kind else listed(model.kinds[1:]), "text": subject}
    model, read = one_text(model, subject, pair, settings.kind, purpose="a reading needs text")
    if given is not None:
        about["text"] = model.require_tokenizer("ids have words").decode(given.ids)
    return read_example(model, read, settings, attributes=about, progress=progress)
