"""Sound as numbers: a WAV file at the rate at which a model hears."""

import wave
from math import gcd

import numpy as np
from jaxtyping import Float32

from headlight.errors import CorpusError
from headlight.files import Location, storable

_FULL_SCALE = 1 << 15
HIGHEST_RATE = 1_000_000
"""Samples in a second that a file may have; recorders take 384,000 at most."""


def read_sound(audio: Location, rate: int) -> Float32[np.ndarray, " sample"]:
    """A recording as one channel between -1 and 1, at a rate.

    Args:
        audio: A WAV file of 16-bit samples, at any rate and with any number of channels.
        rate: Samples in a second.

    Raises:
        CorpusError: There is no such file, it is of another format, or empty.
    """
    from scipy.signal import resample_poly  # slow to import, and of no use to texts

    name = storable(audio)
    wanted = f"give a WAV file of 16-bit samples, {rate} Hz at best"
    if not audio.is_file():
        raise CorpusError(f"there is no audio file {name!r}; correct its path.")
    try:
        with audio.open("rb") as raw, wave.open(raw) as file:
            given, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            samples = file.readframes(file.getnframes())
    except Exception as problem:  # wave's own, those of the system, and of drivers of stores
        raise CorpusError(f"{name} cannot be read as sound ({problem}); {wanted}.") from problem
    if width != np.dtype(np.int16).itemsize:
        raise CorpusError(f"{name} has samples of {8 * width} bits; {wanted}.")
    whole = samples[: len(samples) // (width * channels) * width * channels]  # of a file cut short
    sound = np.frombuffer(whole, "<i2").reshape(-1, channels).mean(1) / _FULL_SCALE
    if not len(sound):
        raise CorpusError(f"{name} holds no sound; leave it out.")
    if not 0 < given <= HIGHEST_RATE:  # a filter for it would have as many coefficients
        raise CorpusError(f"{name} says that a second of it has {given:,} samples; {wanted}.")
    common = gcd(given, rate)
    return np.asarray(resample_poly(sound, rate // common, given // common), np.float32)
