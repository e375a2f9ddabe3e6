"""Speech as a model reads it: frames of sound attended by the words of its transcript."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from headlight.capture import CapturedModel
from headlight.corpora import Recording
from headlight.corpora.text import require_text
from headlight.encode import EncodedSpeech, recordings
from headlight.errors import CorpusError, UsageError
from headlight.reading.reading import Reading, read_example
from headlight.result.kinds import ALL
from headlight.vocabulary import Kinds, ValueBias


def read_speech(  # noqa: PLR0913 - each is a choice of its own
    model: CapturedModel,
    audio: str | Path,
    text: str | None = None,
    *,
    kind: Kinds | None = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    queries: Iterable[int] | None = None,
    value_bias: ValueBias = "include",
    command: str | None = None,
) -> Reading:
    """Read a recording and its transcript, and keep every measure of every head.

    Frames are named by the time at which they begin.  The model also attends to the silence that
    fills its window; it is computed with, and not kept: rows of weights then sum to less than 1.

    Args:
        model: an encoder-decoder of speech, such as Whisper.
        audio: a WAV file of 16-bit samples.
        text: what the decoder is given; by default what the model itself hears, for which it must
            be loaded with its head (``head="language_model"``).
        kind: ``cross`` (by default), ``encoder`` or ``decoder``.
        layers: which layers; by default all.
        heads: which heads of each layer; by default all.
        queries: positions of attending words or frames that are kept; by default all.
        value_bias: whether T of effective attention has the value bias in it.
        command: how it was asked for, for the record.

    Raises:
        UsageError: no such file, another format, too long, no model of speech, or a transcript is
            neither given nor can be made.
    """
    chosen: Any = kind or "cross"
    if chosen == ALL:
        raise UsageError("speech is read with one kind of attention at a time; choose one.")
    listener, tokenizer = model.listener, model.require_tokenizer("a transcript is read")

    def heard_as(words: str) -> EncodedSpeech:
        given = Recording(str(audio), Path(audio), words)
        (example,) = recordings(
            [given],
            tokenizer,
            listener.hearing,
            decoder_start=int(model.decoder_start or 0),
            max_length=model.longest,
            overflow="error",
        )
        return example

    try:
        if text is not None:
            require_text(text, "text")
        said = _transcript(model, heard_as(".")) if text is None else text
        example = heard_as(said)
    except CorpusError as problem:
        raise UsageError(str(problem)) from problem
    if chosen == "encoder":
        queries = range(example.heard) if queries is None else queries
    dataset = read_example(
        model,
        example,
        attributes={"text": said, "pair": "", "command": command or "", "other_kinds": ""},
        kind=chosen,
        layers=layers,
        heads=heads,
        queries=queries,
        value_bias=value_bias,
    ).dataset.assign_attrs(
        audio=str(audio), transcript="by the model" if text is None else "given", unknown=0
    )
    for side in ("query", "key"):
        if chosen == "encoder" or (chosen == "cross" and side == "key"):
            dataset = dataset.isel({side: dataset[side].values < example.heard})
            times = [listener.hearing.begins(int(frame)) for frame in dataset[side].values]
            dataset = dataset.assign_coords({f"{side}_time": (side, times, {"units": "s"})})
    return Reading(dataset)


def _transcript(model: CapturedModel, example: EncodedSpeech) -> str:
    """Return the transcript of the model.

    Raises:
        UsageError: it was loaded without its head, or hears nothing.
    """
    network: Any = model.transformer
    if not hasattr(network, "generate"):
        raise UsageError(
            f"{model.name} is loaded without its head and cannot transcribe; give the text, or "
            "load it with head='language_model'."
        )
    tokenizer: Any = model.tokenizer
    with torch.inference_mode():
        features, _ = model.listener.features([example])
        (ids,) = network.generate(features)
    heard = str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
    if not heard:
        raise UsageError("the model hears no words in the recording; give the text.")
    return heard
