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
"""More milliseconds than a window has."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Window of sound that a model encodes: of fixed length, filled up with silence.

    Attributes:
        rate: Number of samples in a second.
        window: Length of a window in seconds.
        frames: Number of positions of the encoder for a window.
    """

    rate: int
    window: float
    frames: int

    def heard(self, seconds: float) -> int:
        """Return the number of frames that so much sound fills."""
        return min(self.frames, ceil(seconds / self.window * self.frames))

    def begins(self, frame: int) -> float:
        """Return the time at which a frame begins, in seconds."""
        return frame * self.window / self.frames


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSpeech(Encoded):
    """Window of sound, as the encoder hears it, and its transcript, as the decoder reads it.

    Its `ids` tell when a frame begins and which sound it is of, see `frame_time`; they are below 0,
    as no id of a vocabulary is, and no model is given them.  Frames of the silence that fills the
    window belong to no word, as special tokens do, and are of the category ``sep``.

    Attributes:
        index: Number of the recording in the corpus, from 0.
        audio: File with the sound.
        heard: Number of frames that sound fills; silence fills the rest of the window.
        frame: Length of a frame in seconds.
        target_text: Words of the transcript, which `target_words` numbers.
        times: Beginning and end of each of these words in seconds; None if unknown.
    """

    index: int
    audio: Location
    heard: int
    frame: float
    target_text: tuple[str, ...]
    times: tuple[tuple[float, float], ...] | None = None

    def beginning(self, tokens: int) -> "EncodedSpeech":
        """Return the whole window, with the first words: sound is heard as a whole."""
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
    """Return every recording as one example; those that are too long are left out and counted.

    Args:
        corpus: Recordings, usually of `headlight.corpora.open_recordings`.
        tokenizer: Fast Hugging Face tokenizer; the special tokens that it puts around a transcript
            belong to no word.
        hearing: Window of sound of the model.
        decoder_start: Id with which the decoder begins.
        max_length: Largest number of tokens of a transcript, special tokens included.
        overflow: Treatment of sound that is longer than the window, or of a longer transcript:
            with ``error`` it is refused, else left out; if it were cut, words and sound would not
            match.

    Raises:
        UsageError: The tokenizer is slow, or `max_length` leaves no room.
        CorpusError: While iterating: a file is no sound that is read here, or a recording is too
            long, and that is an ``error``.
    """
    assembly = Assembly.from_tokenizer(tokenizer, decoder_start)
    if max_length is not None:
        assembly.room(max_length)

    def encode(group: list[Recording], counts: Counts) -> Iterator[EncodedSpeech]:
        spoken = tokenise(
            tokenizer, [recording.text for recording in group], target=True, special_apart=False
        )
        for recording, pieces in zip(group, spoken, strict=True):
            counts.documents += 1
            if not len(pieces):
                counts.empty += 1
                continue
            words = _shift_transcript(assembly, recording.name, pieces, decoder_start)
            example = _encode_recording(recording, words, hearing, counts.documents - 1, max_length)
            if isinstance(example, EncodedSpeech):
                yield example
            elif overflow == "error":
                raise CorpusError(f"{recording.name} {example}; cut it, or leave it out.")
            else:
                counts.too_long += 1

    return Examples(Recipe(corpus, _texts, encode, assembly.marks))


def without_mark(numbers: Any) -> Any:
    """Return numbers of frames that tell only when they begin, whatever sound they are of.

    Args:
        numbers: Numbers among `EncodedSpeech.ids`, as an array or tensor.
    """
    return -1 - (-1 - numbers) % _MILLISECONDS


def frame_time(number: int) -> float:
    """Return the start of a frame in seconds, by its number among `EncodedSpeech.ids`."""
    return (-1 - number) % _MILLISECONDS / 1000


def token_names(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Return the names of tokens, of frames by the time at which they begin, and of patches."""
    return [
        str(tokenizer.convert_ids_to_tokens(number))
        if number >= 0
        else place_name(number) or f"{frame_time(number):.2f} s"
        for number in map(int, ids)
    ]


def _texts(recording: Recording) -> tuple[str, str]:
    """Return its words, and the file of its sound with its size, which needs no reading."""
    try:
        # Sound is not read to see whether it has changed: hours of it would be.
        size = recording.audio.stat().st_size
    except OSError:  # which is refused where it is heard
        size = 0
    return f"{storable(recording.audio)} {size}", recording.text


def _shift_transcript(assembly: Assembly, name: str, pieces: Any, start: int) -> Encoded:
    """Return the transcript as the decoder reads it while predicting: without the last token.

    Tokenizers of speech often add the token themselves with which the decoder begins.
    """
    labels = assembly.encode_apart(name, pieces, pieces)
    if labels.target[0] != start:
        return assembly.encode_pair(name, pieces, pieces)
    return replace(
        labels,
        target=labels.target[:-1],
        target_categories=labels.target_categories[:-1],
        target_words=labels.target_words[:-1],
    )


def _encode_recording(
    recording: Recording, words: Encoded, hearing: Hearing, index: int, longest: int | None
) -> EncodedSpeech | str:
    """Return the example, or why there is none."""
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
