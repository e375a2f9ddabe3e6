"""Speech as a model reads it: frames of sound attended by the words of its transcript."""

import wave
from collections.abc import Iterable
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from scipy.signal import resample_poly
from transformers import AutoFeatureExtractor

from headlight.capture import CapturedModel
from headlight.catalogue.models import place_of
from headlight.encode import Encoded, encode_one
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reading.reading import Reading, read_example
from headlight.result.kinds import ALL
from headlight.vocabulary import CATEGORIES, Kinds, ValueBias

_FRAME = CATEGORIES.index("other")
_FULL_SCALE = 1 << 15


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
    extractor = _extractor(model)
    samples = _samples(audio, extractor)
    sound = extractor(samples, sampling_rate=extractor.sampling_rate, return_tensors="pt")
    network: Any = model.transformer
    features = sound.input_features.to(network.device, network.dtype)
    said = text or _transcript(model, features)
    frames = int(network.config.max_source_positions)
    second = frames / (extractor.n_samples / extractor.sampling_rate)
    heard = min(frames, int(np.ceil(len(samples) / extractor.sampling_rate * second)))
    written = encode_one(model.require_tokenizer("a transcript is read"), said)
    example = Encoded(
        str(audio), (0,) * frames, (0,) * frames, (_FRAME,) * frames, tuple(range(frames)),
        written.ids, written.categories, written.words,
    )  # fmt: skip
    if chosen == "encoder":
        queries = range(heard) if queries is None else queries
    dataset = read_example(
        _Listener(model, features),
        example,
        attributes={"text": said, "pair": "", "command": command or "", "other_kinds": ""},
        kind=chosen,
        layers=layers,
        heads=heads,
        queries=queries,
        value_bias=value_bias,
    ).dataset.assign_attrs(
        audio=str(audio), transcript="given" if text else "by the model", unknown=0
    )
    for side in ("query", "key"):
        if chosen == "encoder" or (chosen == "cross" and side == "key"):
            dataset = dataset.isel({side: dataset[side].values < heard})
            times = [f"{at / second:.2f} s" for at in dataset[side].values]
            dataset = dataset.assign_coords({f"{side}_token": (side, times)})
    return Reading(dataset)


class _Listener(CapturedModel):
    """The model on one recording, whatever the ids of its frames are."""

    def __init__(self, model: CapturedModel, features: torch.Tensor) -> None:
        super().__init__(model.transformer, model.tokenizer, model.name, model.revision)
        self.sites = model.sites
        self._features = features

    def inputs(self, batch: Batch, *, side: str = "right") -> dict[str, Any]:
        """Sound for the encoder, words for the decoder."""
        given = {"input_features": self._features, "decoder_input_ids": batch.target_ids}
        return given | {"use_cache": False}


def _extractor(model: CapturedModel) -> Any:
    """What makes features of sound for this model.

    Raises:
        UsageError: it reads something else.
    """
    network = model.transformer
    if network.main_input_name != "input_features" or not model.has_decoder_inputs:
        raise UsageError(f"{model.name} reads no speech; give a model that does, such as Whisper.")
    try:
        return AutoFeatureExtractor.from_pretrained(place_of(network.name_or_path or model.name))
    except (OSError, ValueError) as problem:
        raise UsageError(
            f"{model.name} does not say how sound becomes features; put its "
            "preprocessor_config.json into its folder."
        ) from problem


def _samples(audio: str | Path, extractor: Any) -> Float32[np.ndarray, " sample"]:
    """The recording as the model wants it: one channel, at its rate.

    Raises:
        UsageError: there is no such file, it is of another format, empty or too long.
    """
    if not Path(audio).is_file():
        raise UsageError(f"there is no audio file {str(audio)!r}; correct its path.")
    wanted = f"give a WAV file of 16-bit samples, {extractor.sampling_rate} Hz at best"
    try:
        with wave.open(str(audio)) as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            raw = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as problem:
        raise UsageError(f"{audio} cannot be read as sound ({problem}); {wanted}.") from problem
    if width != np.dtype(np.int16).itemsize:
        raise UsageError(f"{audio} has samples of {8 * width} bits; {wanted}.")
    sound = np.frombuffer(raw, "<i2").reshape(-1, channels).mean(1) / _FULL_SCALE
    seconds, most = len(sound) / rate, extractor.n_samples / extractor.sampling_rate
    if not 0 < seconds <= most:
        raise UsageError(
            f"{audio} lasts {seconds:.1f} s, and {most:.0f} s at most can be read at once; cut it."
        )
    common = gcd(rate, extractor.sampling_rate)
    resampled = resample_poly(sound, extractor.sampling_rate // common, rate // common)
    return np.asarray(resampled[: extractor.n_samples], np.float32)


def _transcript(model: CapturedModel, features: torch.Tensor) -> str:
    """What the model hears.

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
        (ids,) = network.generate(features)
    heard = str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
    if not heard:
        raise UsageError("the model hears no words in the recording; give the text.")
    return heard
