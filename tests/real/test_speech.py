"""Whisper on speech whose words are known, and when they are said.

Words are said one by one (espeak-ng) and joined with pauses, so that their times are known.
"""

import itertools
import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest
import xarray
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
"""In another voice."""
PAUSE = 0.08
"""Seconds between words."""
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


@pytest.fixture(scope="module")
def timed(model: Model, tmp_path_factory: pytest.TempPathFactory) -> dict[str, xarray.Dataset]:
    """Alignments of words and sound: of two sentences in two voices, of four in another one."""
    found = {}
    for name, texts, voices in (
        ("first", SENTENCES, ("en-us", "en+f3")),
        ("others", OTHERS, ("en-gb+f3",)),
    ):
        folder = tmp_path_factory.mktemp(name)
        for text, voice in itertools.product(texts, voices):
            path, times = joined(text, tmp_path_factory.mktemp("word"), voice)
            sound = path.rename(folder / f"{texts.index(text)}-{voice}.wav")
            sound.with_suffix(".txt").write_text(text, encoding="utf-8")
            lines = [f"{word} {a} {b}\n" for word, (a, b) in zip(text.split(), times, strict=True)]
            sound.with_suffix(".times").write_text("".join(lines), encoding="utf-8")
        found[name] = headlight.alignment(folder, model=model, progress=False)
    return found


@pytest.mark.parametrize("measure", ["weight", "norm"])
@pytest.mark.parametrize("which", ["first", "others"])
def test_all_listed_heads_but_one_are_found(
    which: str, measure: str, timed: dict[str, xarray.Dataset]
) -> None:
    """By how far beginnings of words are found from where they are, alone, on each head's path.

    (2, 1), which is not listed, is nearer than the listed (1, 0).
    """
    listed = GenerationConfig.from_pretrained(Path(str(MODELS)) / "whisper").alignment_heads
    error = timed[which]["head_start_error"].sel(measure=measure, step="output").values
    is_listed = np.zeros(error.shape, bool)
    is_listed[tuple(np.transpose(listed))] = True
    inside, outside = error[is_listed], error[~is_listed]
    assert (inside[:, None] < outside).mean() > 0.9
    best = np.argsort(error, axis=None)[: len(listed)]
    assert is_listed.flat[best].sum() >= len(listed) - 1
    assert error[2, 1] < error[1, 0]


@pytest.mark.parametrize("which", ["first", "others"])
def test_heads_to_list_are_among_those_listed(which: str, timed: dict[str, xarray.Dataset]) -> None:
    from headlight_words.findings.word_times import alignment_heads

    listed = GenerationConfig.from_pretrained(Path(str(MODELS)) / "whisper").alignment_heads
    heads = alignment_heads(timed[which])
    assert len(heads) >= 5
    assert all(head in listed for head in heads)


def test_words_are_timed_within_a_tenth_of_a_second(timed: dict[str, xarray.Dataset]) -> None:
    for found in timed.values():
        assert found.attrs["chosen_heads"].startswith("L1H0, L2H0, L2H5, L3H0")
        together = found["chosen_start_error"].sel(measure="weight")
        assert float(together.sel(step="output")) < 0.13
        # A row speaks for the piece that it predicts: read as the one that stands there, it is
        # late by one.
        assert float(together.sel(step="input")) > 0.3


def test_frames_are_named_by_their_time_and_silence_is_left_out(readings: Readings) -> None:
    for reading, times in readings:
        names = list(reading.dataset.key_token.values)
        assert names[:3] == ["0.00 s", "0.02 s", "0.04 s"]
        assert abs(float(names[-1].split()[0]) - times[-1][1] - PAUSE) < 0.05
        assert float(reading["weight"].sum("key").max()) <= 1 + 1e-4
