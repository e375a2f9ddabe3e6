"""Readings of speech: a recording and its transcript, given or the model's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from headlight.capture import CapturedModel
from headlight.catalogue.question_settings import ReadingSettings
from headlight.corpora import Recording
from headlight.corpora.text_checks import require_text
from headlight.encode import EncodedSpeech, recordings
from headlight.encode.token_categories import Categories
from headlight.encode.token_ids import with_next_token
from headlight.errors import CorpusError, UsageError, with_head
from headlight.reading.example import Progress, read_example
from headlight.reading.reading import Reading
from headlight.result.kinds import ALL


def read_speech(
    model: CapturedModel,
    audio: str | Path,
    text: str | None,
    settings: ReadingSettings,
    *,
    command: str | None = None,
    progress: Progress | None = None,
) -> Reading:
    """Read a recording and its transcript, and keep every measure of every head.

    Frames are named by the time at which they begin.  The model also attends to the silence that
    fills its window; it is computed with, and not kept: rows of weights then sum to less than 1.

    Args:
        model: Encoder-decoder of speech, such as Whisper.
        audio: WAV file of 16-bit samples.
        text: Transcript for the decoder; by default what the model itself hears, for which it must
            be loaded with its head (``head="language_model"``).
        settings: Settings of the reading, of one kind of attention; by default ``cross``.
        command: Command of the request, for the record.
        progress: Function that is told of finished layers.

    Raises:
        UsageError: No such file, another format, a recording that is too long, no model of speech,
            or a transcript that is neither given nor can be made.
    """
    if settings.kind == ALL:
        raise UsageError("speech is read with one kind of attention at a time; choose one.")
    settings = settings.replace(kind=settings.kind or "cross")
    listener, _ = model.listener, model.require_tokenizer("a transcript is read")
    transcript, example = _heard(model, audio, text)
    if settings.kind == "encoder" and settings.queries is None:
        settings = settings.replace(queries=tuple(range(example.heard)))
    dataset = read_example(
        model,
        example,
        settings,
        attributes={"text": transcript, "pair": "", "command": command or "", "other_kinds": ""},
        progress=progress,
    ).dataset.assign_attrs(
        audio=str(audio), transcript="by the model" if text is None else "given", unknown=0
    )
    for side in ("query", "key"):
        if settings.kind == "encoder" or (settings.kind == "cross" and side == "key"):
            dataset = dataset.isel({side: dataset[side].values < example.heard})
            times = [listener.hearing.begins(int(frame)) for frame in dataset[side].values]
            dataset = dataset.assign_coords({f"{side}_time": (side, times, {"units": "s"})})
    return Reading(dataset)


def _heard(model: CapturedModel, audio: object, text: str | None) -> tuple[str, EncodedSpeech]:
    """Return the transcript, by the model where none is given, and the recording with it.

    Raises:
        UsageError: See `read_speech`.
    """
    if not isinstance(audio, str | Path):
        raise UsageError(
            f"sound is a WAV file, and no {type(audio).__name__}; write its samples into one, as "
            "numbers of 16 bits (scipy.io.wavfile.write)."
        )
    if text is not None:
        require_text(text, "text")
    recording = Recording(str(audio), Path(audio), "." if text is None else text)
    try:
        (example,) = recordings(
            [recording],
            model.tokenizer,  # type: ignore[arg-type]
            model.listener.hearing,
            decoder_start=int(model.decoder_start or 0),
            max_length=model.longest,
            overflow="error",
        )
    except CorpusError as problem:
        raise UsageError(problem.marked()) from problem
    return _transcribed(model, example) if text is None else (text, example)


def _transcribed(model: CapturedModel, example: EncodedSpeech) -> tuple[str, EncodedSpeech]:
    """Return the transcript of the model, and the recording with the very tokens that it wrote.

    Args:
        model: Model of speech.
        example: Recording with another transcript.

    Raises:
        UsageError: The model lacks its head, or hears nothing.
    """
    network: Any = model.transformer
    if not hasattr(network, "generate"):
        raise UsageError(
            f"{model} is loaded without its head and cannot transcribe; give the text, or "
            f"{with_head('a model of speech')}."
        )
    tokenizer: Any = model.tokenizer
    with torch.inference_mode():
        features, _ = model.listener.features([example])
        (ids,) = network.generate(features)
    transcript = str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
    if not transcript:
        raise UsageError("the model recognizes no words in the recording; give the text.")
    # Before the first word stand the tokens of language and task, with which the decoder begins.
    begun = next(at for at, word in enumerate(example.target_words) if word >= 0)
    example = replace(
        example,
        target=example.target[:begun],
        target_categories=example.target_categories[:begun],
        target_words=example.target_words[:begun],
        target_text=tuple(transcript.split()),
    )
    categories = Categories.from_tokenizer(tokenizer)
    # Neither special ones nor times, and as many as the model takes behind what begins them.
    spoken = [
        token for token in ids.tolist() if tokenizer.decode([token], skip_special_tokens=True)
    ]
    for number in spoken[: model.longest and model.longest - begun]:
        example = with_next_token(example, number, tokenizer, categories)
    return transcript, example
