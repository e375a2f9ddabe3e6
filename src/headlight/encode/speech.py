"""Recordings as examples: the words of a transcript attend to frames of sound."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from headlight.corpora import Recording
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pictures import place_name
from headlight.encode.pieces import SPECIAL_WORD, Tokenizer, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.encode.token_categories import OTHER, SEP
from headlight.encode.wav_files import read_sound
from headlight.errors import CorpusError
from headlight.files import Location, storable

FRAME_NAMES = {"all": "all frames", "sep": "final silence", "other": "sound"}
"""Names of frames by category; silence fills the window after the end of the sound."""

_MILLISECONDS = 1 << 20
"""More than a window has."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Window of sound that a model encodes: of fixed length, filled up with silence.

    Attributes:
        rate: Samples in a second.
        window: Seconds that it hears at once.
        frames: Positions of the encoder for a window.
    """

    rate: int
    window: float
    frames: int

    def heard(self, seconds: float) -> int:
        """The frames that so much sound fills."""
        return min(self.frames, ceil(seconds / self.window * self.frames))

    def begins(self, frame: int) -> float:
        """Return the time at which a frame begins, in seconds."""
        return frame * self.window / self.frames


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSpeech(Encoded):
    """A window of sound, as the encoder hears it, and its transcript, as the decoder reads it.

    Its `ids` say when a frame begins and which sound it is of, see `frame_time`; they are below 0,
    as no id of a vocabulary is, and no model is given them.  Frames of the silence that fills the
    window belong to no word, as special tokens do, and are of the category ``sep``.

    Attributes:
        index: Which recording of the corpus it is, from 0.
        audio: The file with the sound.
        heard: Frames that sound fills; the window is the rest.
        frame: How long a frame is, in seconds.
        target_text: The words of the transcript; `target_words` numbers these.
        times: When each of them is said, in seconds; None where that is not known.
    """

    index: int
    audio: Location
    heard: int
    frame: float
    target_text: tuple[str, ...]
    times: tuple[tuple[float, float], ...] | None = None

    def beginning(self, tokens: int) -> "EncodedSpeech":
        """The whole window, with the first words: sound is heard as a whole."""
        return replace(
            self,
            target=self.target[: tokens - 1],
            target_categories=self.target_categories[: tokens - 1],
            target_words=self.target_words[: tokens - 1],
        )


def recordings(
    corpus: Iterable[Recording],
    tokenizer: Tokenizer,
    hearing: Hearing,
    *,
    decoder_start: int,
    max_length: int | None = None,
    overflow: str = "skip",
) -> Examples[EncodedSpeech]:
    """Every recording as one example; those that are too long are left out and counted.

    Args:
        corpus: Usually of `headlight.corpora.open_recordings`.
        tokenizer: A fast Hugging Face tokenizer; what it puts around a transcript belongs to no
            word.
        hearing: How the model hears.
        decoder_start: The id with which the decoder begins.
        max_length: Tokens of a transcript at most, special tokens included.
        overflow: What becomes of sound that is longer than the window, or of a longer transcript:
            with ``error`` it is refused, else left out; cut off, words and sound would not fit.

    Raises:
        UsageError: The tokenizer is slow, or `max_length` leaves no room.
        CorpusError: While iterating: a file is no sound that is read here, or a recording is too
            long, and that is an ``error``.
    """
    assembly = Assembly.of(tokenizer, decoder_start)
    if max_length is not None:
        assembly.room(max_length)

    def encode(group: list[Recording], counts: Counts) -> Iterator[EncodedSpeech]:
        spoken = tokenise(
            tokenizer, [each.text for each in group], target=True, special_apart=False
        )
        for each, pieces in zip(group, spoken, strict=True):
            counts.documents += 1
            if not len(pieces):
                counts.empty += 1
                continue
            words = _as_read(assembly, each.name, pieces, decoder_start)
            example = _heard(each, words, hearing, counts.documents - 1, max_length)
            if isinstance(example, EncodedSpeech):
                yield example
            elif overflow == "error":
                raise CorpusError(f"{each.name} {example}; cut it, or leave it out.")
            else:
                counts.too_long += 1

    return Examples(Recipe(corpus, _texts, encode, assembly.marks))


def without_mark(numbers: Any) -> Any:
    """Numbers of frames that say nothing but when they begin, whatever sound they are of.

    Args:
        numbers: Among `EncodedSpeech.ids`, as an array or tensor.
    """
    return -1 - (-1 - numbers) % _MILLISECONDS


def frame_time(number: int) -> float:
    """Return the start of a frame in seconds, by its number among `EncodedSpeech.ids`."""
    return (-1 - number) % _MILLISECONDS / 1000


def token_names(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Return the names of tokens, of frames by the time at which they begin, and of patches."""
    return [
        str(tokenizer.convert_ids_to_tokens(each))
        if each >= 0
        else place_name(each) or f"{frame_time(each):.2f} s"
        for each in map(int, ids)
    ]


def _texts(recording: Recording) -> tuple[str, str]:
    """Its words, and its sound as far as that is known without reading it."""
    try:
        size = recording.audio.stat().st_size
    except OSError:  # which is refused where it is heard
        size = 0
    return f"{storable(recording.audio)} {size}", recording.text


def _as_read(assembly: Assembly, name: str, pieces: Any, start: int) -> Encoded:
    """The transcript as the decoder reads it while it predicts it: the last token is never given.

    Tokenizers of speech often put the token there themselves with which the decoder begins.
    """
    labels = assembly.apart(name, pieces, pieces)
    if labels.target[0] != start:
        return assembly.two(name, pieces, pieces)
    return replace(
        labels,
        target=labels.target[:-1],
        target_categories=labels.target_categories[:-1],
        target_words=labels.target_words[:-1],
    )


def _heard(
    recording: Recording, words: Encoded, hearing: Hearing, index: int, longest: int | None
) -> EncodedSpeech | str:
    """The example, or why there is none."""
    sound = read_sound(recording.audio, hearing.rate)
    seconds = len(sound) / hearing.rate
    if seconds > hearing.window:
        return f"lasts {seconds:.1f} s, and {hearing.window:.0f} s at most can be read at once"
    if longest is not None and len(words.target) > longest:
        return f"has a transcript of {len(words.target)} tokens, and {longest} at most can be read"
    audible_frames, frames = hearing.heard(seconds), hearing.frames
    silence = frames - audible_frames
    mark = zlib.crc32(sound.tobytes()) * _MILLISECONDS
    example = Encoded(
        recording.name,
        tuple(-1 - mark - round(1000 * hearing.begins(frame)) for frame in range(frames)),
        (0,) * frames,
        (OTHER,) * audible_frames + (SEP,) * silence,
        (*range(audible_frames), *(SPECIAL_WORD,) * silence),
        words.target,
        words.target_categories,
        words.target_words,
    )
    return annotate(
        example,
        EncodedSpeech,
        index=index,
        audio=recording.audio,
        heard=audible_frames,
        frame=hearing.begins(1),
        target_text=tuple(recording.text.split()),
        times=recording.times,
    )
