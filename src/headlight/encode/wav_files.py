"""Sound of WAV files, as one channel at a rate."""

import wave
from contextlib import suppress
from math import gcd

import numpy as np
from jaxtyping import Float32

from headlight.corpora.file_kinds import LONGEST_START, is_sound
from headlight.errors import CorpusError
from headlight.files import Location, location, open_file, storable, why_unread

_FULL_SCALE = 1 << 15
_OF_STREAMS = 0x7FFF0000
"""Length from which on a header says nothing, because its writer could not know the length."""
HIGHEST_RATE = 1_000_000
"""Samples in a second that a file may have; recorders take 384,000 at most."""


def read_sound(audio: Location, rate: int) -> Float32[np.ndarray, " sample"]:
    """Return a recording as one channel between -1 and 1, at a rate.

    Args:
        audio: WAV file of 16-bit samples, at any rate and with any number of channels.
        rate: Number of samples in a second.

    Raises:
        CorpusError: There is no such file, it is of another format, or empty.
    """
    from scipy.signal import resample_poly  # slow to import, and of no use to texts

    name = storable(audio)
    wanted = f"give a WAV file of 16-bit samples, {rate} Hz at best"
    if not location(audio, error=CorpusError).exists():
        raise CorpusError(f"there is no audio file {name!r}; correct its path.")
    try:
        with open_file(audio, error=CorpusError) as raw, wave.open(raw) as file:
            native, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            announced = file.getnframes() * width * channels
            samples = file.readframes(file.getnframes())
    except CorpusError:
        raise
    except Exception as problem:  # wave's own, those of the system, and of drivers of stores
        raise _no_sound(audio, problem, wanted) from problem
    if width != np.dtype(np.int16).itemsize:
        raise CorpusError(f"{name} has samples of {8 * width} bits; {wanted}.")
    if len(samples) < announced < _OF_STREAMS:
        raise CorpusError(
            f"{name} is cut short: it has {len(samples):,} of the {announced:,} bytes of sound "
            "that it announces; copy it again."
        )
    whole = samples[: len(samples) // (width * channels) * width * channels]  # of a stream
    sound = np.frombuffer(whole, "<i2").reshape(-1, channels).mean(1) / _FULL_SCALE
    if not len(sound):
        raise CorpusError(f"{name} holds no sound; leave it out.")
    if not 0 < native <= HIGHEST_RATE:  # a filter for it would have as many coefficients
        raise CorpusError(f"{name} says that a second of it has {native:,} samples; {wanted}.")
    common = gcd(native, rate)  # the filter grows with the larger factor
    return np.asarray(resample_poly(sound, rate // common, native // common), np.float32)


def _no_sound(audio: Location, problem: Exception, wanted: str) -> CorpusError:
    """Return the refusal of what is no WAV file; the beginning tells whether it is other sound."""
    name, start = storable(audio), b""
    with suppress(Exception), open_file(audio, error=CorpusError) as raw:
        start = raw.read(LONGEST_START)
    if is_sound(start):
        return CorpusError(
            f"{name} is sound, but no WAV file; convert it to WAV, for example with "
            "'ffmpeg -i a.mp3 -ar 16000 a.wav'."
        )
    return CorpusError(f"{name} cannot be read as sound ({why_unread(problem)}); {wanted}.")
