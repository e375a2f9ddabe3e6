"""Text that a model generates, and transcripts of speech, read while they are made.

A decoder that goes on with a text, token by token, and the reading of each as it is made.
Keys and values of the tokens before stay in the model's cache, so that each new token costs one row
of attention in each layer, and not the whole text again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.one_text import head_of, one_text
from headlight.chats import Readable, as_read
from headlight.corpora import Recording
from headlight.corpora.text import require_text
from headlight.encode import Encoded, EncodedSpeech, recordings
from headlight.encode.examples import OTHER, Categories
from headlight.errors import CorpusError, MissingHeadError, UnsupportedModelError, UsageError
from headlight.findings.piece_text import piece_text
from headlight.reading.reading import Reading, read_example
from headlight.reading.text_result import as_written
from headlight.result.kinds import ALL
from headlight.vocabulary import Kinds, ValueBias

LEFT_OUT = ("effective", "rank")
"""These ask which values of tokens are the same, as those of one word in the first layer are; but
values that were computed in different passes differ by their rounding."""


@dataclass(frozen=True, eq=False)
class GeneratedToken:
    """A token that a decoder has put out.

    Attributes:
        token: as it is shown, without the blank before it.
        id: its number.
        probability: that the model gave it; the largest.
        reading: of the token before it, which predicted it: one query, and all keys up to it.
    """

    token: str
    id: int
    probability: float
    reading: Reading


def generate(
    model: CapturedModel,
    text: Readable,
    *,
    tokens: int = 20,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
) -> Iterator[GeneratedToken]:
    """The most probable next token again and again, each with the reading of where it came from.

    The text is read once; then each token costs one row of attention.  What a reading holds is what
    that of the whole text would hold in that row, without effective attention and ranks.

    Args:
        model: a decoder with its head.
        text: that it goes on with.
        tokens: how many at most; it ends at the end-of-text token, or where the model takes no
            more.
        layers: which layers; by default all.
        heads: which heads of each layer; by default all.

    Raises:
        MissingHeadError: the model does not predict next tokens.
        UsageError: no tokenizer, an empty or too long text, no such layer or head, or no token is
            asked for.
        UnsupportedModelError: the attention of the model cannot be captured exactly, or it keeps no
            keys and values.
    """
    network: Any = model.transformer
    name = type(network).__name__
    if model.has_decoder_inputs or head_of(network.config, name) != "causal":
        raise MissingHeadError(
            f"{model} is a {name}, which does not go on with a text; load a decoder with its "
            "head (head='any')."
        )
    if tokens < 1:
        raise UsageError(f"tokens is {tokens}; ask for one at least.")
    text = as_read(text, predicts=True)
    model, example = one_text(model, text, None, None, purpose="it goes on with a text")
    text = as_written(model, text)
    # A generator would refuse only when it is first asked.
    return _generated(model, example, text, tokens, layers, heads)


def _generated(
    model: CapturedModel,
    example: Encoded,
    text: str,
    tokens: int,
    layers: Iterable[int] | None,
    heads: Iterable[int] | None,
) -> Iterator[GeneratedToken]:
    tokenizer: Any = model.tokenizer
    layers, heads = (None if each is None else list(each) for each in (layers, heads))
    categories, cache = Categories.of(tokenizer), _Cache()
    for _ in range(tokens):
        reading = read_example(
            model,
            example,
            attributes={"text": text, "pair": "", "command": "", "other_kinds": ""},
            layers=layers,
            heads=heads,
            queries=[len(example.ids) - 1],
            capture=cache.capture,
            left_out=LEFT_OUT,
            statistics=False,
        )
        assert cache.logits is not None  # noqa: S101 - the model has run
        number = int(cache.logits.argmax())
        probability = float(cache.logits.double().softmax(-1)[number])
        written = str(tokenizer.convert_ids_to_tokens(number))
        token = piece_text(written, str(reading.dataset.attrs["pieces"])).label
        yield GeneratedToken(token, number, probability, reading)
        if number == tokenizer.eos_token_id or len(example.ids) == model.longest:
            return
        text = tokenizer.decode([*example.ids, number], skip_special_tokens=True)
        example = _longer(example, number, tokenizer, categories)


class _Cache:
    """Runs a model on what it has not seen yet of a text that grows.

    Attributes:
        logits: at the last token, of the latest run.
    """

    def __init__(self) -> None:
        self.logits: Tensor | None = None
        self._kept: Any = DynamicCache()
        self._seen = 0
        self._past: dict[AttentionSite, Tensor] = {}

    def capture(
        self,
        model: CapturedModel,
        example: Encoded,
        sites: Sequence[AttentionSite],
        visit: Callable[[LayerRecord], object],
        **_: Any,
    ) -> None:
        """As `headlight.capture.one_text.capture_one`, for the tokens that are new."""
        network: Any = model.transformer
        arguments = model.inputs(model.collate([example]))
        arguments["input_ids"] = arguments["input_ids"][:, self._seen :]
        with model.capture(sites) as recorder, torch.inference_mode(), model.running():
            recorder.visit, recorder.past, recorder.query_block = visit, self._past, None
            output = network(**arguments | {"past_key_values": self._kept, "use_cache": True})
        self._seen = len(example.ids)
        if self._kept.get_seq_length() != self._seen:
            raise UnsupportedModelError(
                f"{model} keeps no keys and values of the tokens before, so that each new "
                "token would cost a whole pass; read the whole text when it is there."
            )
        self.logits = output.logits[0, -1].cpu()


def _longer(example: Encoded, number: int, tokenizer: Any, categories: Categories) -> Encoded:
    """With one more token, which begins a word where a blank stands before it."""
    before, after = (tokenizer.decode(ids) for ids in ([*example.ids], [*example.ids, number]))
    last = max(example.words, default=-1)
    word = last + 1 if last < 0 or after[len(before) : len(before) + 1].isspace() else last
    if number in tokenizer.all_special_ids:
        word = -1
    return replace(
        example,
        ids=(*example.ids, number),
        segments=(*example.segments, example.segments[-1]),
        categories=(*example.categories, categories.of_ids([0, number], [OTHER, OTHER])[1]),
        words=(*example.words, word),
        segment_names=example.segment_names and (*example.segment_names, "assistant"),
    )


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
        value_bias: value bias in T of effective attention.
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
        recording = Recording(str(audio), Path(audio), words)
        (example,) = recordings(
            [recording],
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
        transcript = _transcript(model, heard_as(".")) if text is None else text
        example = heard_as(transcript)
    except CorpusError as problem:
        raise UsageError(str(problem)) from problem
    if chosen == "encoder":
        queries = range(example.heard) if queries is None else queries
    dataset = read_example(
        model,
        example,
        attributes={"text": transcript, "pair": "", "command": command or "", "other_kinds": ""},
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
            f"{model} is loaded without its head and cannot transcribe; give the text, or "
            "load it with head='language_model'."
        )
    tokenizer: Any = model.tokenizer
    with torch.inference_mode():
        features, _ = model.listener.features([example])
        (ids,) = network.generate(features)
    transcript = str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
    if not transcript:
        raise UsageError("the model recognizes no words in the recording; give the text.")
    return transcript
