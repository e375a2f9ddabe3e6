"""Whisper on speech whose words are known, and when they are said.

Words are said one by one (espeak-ng) and joined with pauses, so that their times are known.
"""

import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest
from transformers import GenerationConfig

import headlight
from headlight.reading import Reading
from headlight.reading.model import Model
from real.models import MODELS, needs_models

pytestmark = [
    *needs_models,
    pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="no espeak-ng to say words with"),
]
SENTENCES = (
    "The train was late nearly every day because the bridge was closed.",
    "People who worked on the other side of the river had to take the train.",
)
OTHERS = (
    "My brother bought seven green apples and a loaf of bread at the market.",
    "When the rain stopped, the children ran across the field to find their dog.",
    "The teacher asked whether anyone had read the second chapter of the book.",
    "A small boat with a red sail moved slowly along the coast this morning.",
)
"""On which the way to score heads was not chosen; in another voice."""
PAUSE, NEAR = 0.08, 0.1
"""Seconds between words, and around a word that count as it."""
Readings = list[tuple[Reading, list[tuple[float, float]]]]


def say(text: str, path: Path, voice: str = "en-us") -> tuple[int, np.ndarray]:
    subprocess.run(["espeak-ng", "-v", voice, "-s", "150", "-w", str(path), text], check=True)
    with wave.open(str(path)) as file:
        rate = file.getframerate()
        return rate, np.frombuffer(file.readframes(file.getnframes()), "<i2")


def write(path: Path, rate: int, sound: np.ndarray) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(sound.astype("<i2").tobytes())
    return path


def joined(text: str, folder: Path, voice: str = "en-us") -> tuple[Path, list[tuple[float, float]]]:
    """The words one after the other, and when each begins and ends."""
    parts, times, now = [], [], 0.0
    for n, word in enumerate(text.split()):
        rate, sound = say(word, folder / f"{n}.wav", voice)
        loud = np.flatnonzero(np.abs(sound.astype(int)) > 300)
        sound = sound[loud[0] : loud[-1] + 1]
        pause = np.zeros(int(PAUSE * rate), sound.dtype)
        times.append((now, now + len(sound) / rate))
        now += (len(sound) + len(pause)) / rate
        parts += [sound, pause]
    return write(folder / "joined.wav", rate, np.concatenate(parts)), times


@pytest.fixture(scope="module")
def model() -> Model:
    return headlight.load(Path(str(MODELS)) / "whisper", head="language_model")


@pytest.fixture(scope="module")
def readings(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Readings:
    return read_all(model, SENTENCES, "en-us", tmp_path_factory)


@pytest.fixture(scope="module")
def other_readings(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Readings:
    return read_all(model, OTHERS, "en-gb+f3", tmp_path_factory)


def read_all(
    model: Model, texts: tuple[str, ...], voice: str, folders: pytest.TempPathFactory
) -> Readings:
    found = []
    for text in texts:
        path, times = joined(text, folders.mktemp("speech"), voice)
        found.append((model.read(text, audio=path), times))
    return found


def test_whisper_hears_what_is_said(model: Model, tmp_path: Path) -> None:
    said = heard = 0
    for n, text in enumerate(SENTENCES):
        path = tmp_path / f"{n}.wav"
        say(text, path)
        reading = model.read(audio=path, layers=[0]).dataset
        assert reading.attrs["transcript"] == "by the model"
        words = reading.attrs["text"].lower().strip(".").split()
        said += len(text.split())
        heard += len(set(words) & set(text.lower().strip(".").split()))
        assert abs(len(words) - len(text.split())) <= 2
    assert heard > 0.7 * said


def hits(reading: Reading, times: list[tuple[float, float]], measure: str) -> np.ndarray:
    """The share of pieces whose frame lies in the word that is predicted, layer by head.

    What a head gives to a frame in all rows alike is taken out first, as Whisper does for times.
    """
    score = reading[measure].values
    score = score / score.sum(-1, keepdims=True)
    score = (score - score.mean(2, keepdims=True)) / score.std(2, keepdims=True)
    start = np.array([float(name.split()[0]) for name in reading.dataset.key_token.values])
    words = reading.dataset.query_word.values
    found = []
    for query in range(len(words) - 1):
        if (word := words[query + 1]) >= 0:
            best = start[score[:, :, query].argmax(-1)]
            begin, end = times[word]
            found.append((best >= begin - NEAR) & (best <= end + NEAR))
    return np.mean(found, 0)


@pytest.mark.parametrize("measure", ["weight", "norm"])
@pytest.mark.parametrize("which", ["readings", "other_readings"])
def test_the_heads_of_the_model_are_found_in_part(
    which: str, measure: str, request: pytest.FixtureRequest
) -> None:
    """Its list has eight; heads outside it, (1, 5) and (2, 1), align as well, better than some."""
    listed = GenerationConfig.from_pretrained(Path(str(MODELS)) / "whisper").alignment_heads
    share = np.mean([hits(*each, measure) for each in request.getfixturevalue(which)], 0)
    is_listed = np.zeros(share.shape, bool)
    is_listed[tuple(np.transpose(listed))] = True
    inside, outside = share[is_listed], share[~is_listed]
    assert inside.min() > 2 * np.median(outside)
    assert (inside[:, None] > outside).mean() > 0.75
    best = np.argsort(-share, axis=None)[: len(listed)]
    assert is_listed.flat[best].sum() >= 5


def test_frames_are_named_by_their_time_and_silence_is_left_out(readings: Readings) -> None:
    for reading, times in readings:
        names = list(reading.dataset.key_token.values)
        assert names[:3] == ["0.00 s", "0.02 s", "0.04 s"]
        assert abs(float(names[-1].split()[0]) - times[-1][1] - PAUSE) < 0.05
        assert float(reading["weight"].sum("key").max()) <= 1 + 1e-4
