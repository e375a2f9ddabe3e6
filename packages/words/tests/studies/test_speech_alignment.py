"""Words of recordings linked to time, beside the readings of the same recordings."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray
from transformers import GenerationConfig

import headlight
from headlight.errors import CorpusError, RunError, UsageError
from headlight.reading.model import Model
from headlight.result import load
from headlight.result.estimate import with_ends
from speech_material import SAID, recordings, tiny_whisper, wav
from studies.command import Command
from studies.intervals import agrees
from word_alignment.test_times import starts_naive

FRAME = 0.02


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="module")
def model(whisper: Path) -> Model:
    return headlight.load(whisper)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings(tmp_path_factory.mktemp("sounds") / "all")


@pytest.fixture(scope="module")
def readings(model: Model, folder: Path) -> dict[str, xarray.Dataset]:
    return {
        name: model.read(SAID[name][1], audio=folder / f"{name}.wav", kind="cross").dataset
        for name in SAID
    }


def naive_errors(
    reading: xarray.Dataset, text: str, times: tuple, measure: str, step: str, place: tuple
) -> np.ndarray:
    """Errors of the beginnings and ends of words by one head, by a path found cell by cell."""
    score = reading[measure].values[place]
    score = score / score.sum(-1, keepdims=True)
    words = list(reading["query_word"].values)
    if step == "output":
        words = [*words[1:], -1]
    rows = [n for n, word in enumerate(words) if word >= 0]
    after = rows[-1] + 1
    rows += [after] if after < len(words) else []
    score = score[rows]
    scaled = (score - score.mean(0)) / score.std(0)
    padded = np.pad(scaled, ((0, 0), (3, 3)), mode="reflect")
    scaled = np.stack([np.median(padded[:, n : n + 7], 1) for n in range(score.shape[1])], 1)
    starts = [*starts_naive(scaled), score.shape[1]]
    found = []
    for number, (begins, ends) in enumerate(times):
        own = [n for n, row in enumerate(rows) if words[row] == number]
        begin, end = FRAME * starts[own[0]], FRAME * starts[own[-1] + 1]
        middle = (begin + end) / 2
        found.append((abs(begin - begins), abs(end - ends), float(begins <= middle <= ends)))
    assert len(found) == len(text.split())
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["input", "output"])
@pytest.mark.parametrize("measure", ["weight", "norm"])
def test_errors_are_those_of_a_path_found_cell_by_cell(
    model: Model, folder: Path, readings: dict, measure: str, step: str
) -> None:
    found = headlight.alignment(folder, model=model, progress=False)
    assert found.attrs["words"] == sum(len(text.split()) for _, text, _ in SAID.values())
    for place in np.ndindex(2, 2):
        of_words = [
            naive_errors(readings[name], text, times, measure, step, place)
            for name, (_, text, times) in SAID.items()
        ]
        expected = np.concatenate(of_words).mean(0)
        head = found.sel(measure=measure, step=step, layer=place[0], head=place[1])
        seen = [float(head[f"head_{name}"]) for name in ("start_error", "end_error", "inside")]
        np.testing.assert_allclose(seen, expected, atol=1e-6)
        sums, words = np.array([[each[:, 0].sum(), len(each)] for each in of_words]).T
        agrees(head, "head_start_error", sums, words)


def test_one_chosen_head_is_that_head(model: Model, folder: Path) -> None:
    found = headlight.alignment(folder, model=model, chosen_heads=["L1H0"], progress=False)
    for name in ("start_error", "on_path"):
        alone = found[f"head_{name}"].sel(layer=1, head=0)
        np.testing.assert_array_equal(found[f"chosen_{name}"].values, alone.values)


@pytest.mark.slow
def test_without_times_there_is_what_lies_on_the_path(
    model: Model, tmp_path: Path, undrawn: None
) -> None:
    folder = recordings(tmp_path / "all", times=False)
    found = headlight.alignment(folder, model=model, out=tmp_path / "run", progress=False)
    assert not {"start_error", "chosen_on_path"} & {*found.data_vars}
    assert found["head_on_path"].notnull().all()
    assert not (tmp_path / "run" / "alignment_heads.json").exists()
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "no times of words are known" in report


@pytest.mark.slow
def test_another_sound_under_the_same_name_is_noticed(
    model: Model, folder: Path, tmp_path: Path, undrawn: None
) -> None:
    own = shutil.copytree(folder, tmp_path / "own")
    options = {"model": model, "out": tmp_path / "run", "progress": False}
    headlight.alignment(own, **options)
    wav(own / "a.wav", SAID["a"][0], seed=9)
    with pytest.raises(RunError, match="the corpus has changed"):
        headlight.alignment(own, resume=True, **options)


def test_what_is_too_long_is_refused(model: Model, folder: Path, tmp_path: Path) -> None:
    own = shutil.copytree(folder, tmp_path / "own")
    wav(own / "long.wav", 1.2)
    (own / "long.txt").write_text("One second.", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"long\.wav lasts 1\.2 s, and 1 s at most"):
        headlight.alignment(own, model=model, progress=False)


@pytest.mark.slow
def test_mistakes_are_one_sentence(model: Model, folder: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("1-1\n")
    for options, sentence in (
        ({"gold": str(gold)}, "recordings are no translations; lea"),
        ({"swap": True}, "leave out swap and prefix"),
        ({"measures": ["gradient"]}, "cross-attention, not by grad"),
        ({"chosen_heads": ["L9H9"]}, "there is no head 'L9H9'"),
        ({"chosen_heads": ["x"]}, "write L2H5 for head 5"),
    ):
        with pytest.raises(UsageError, match=sentence):
            headlight.alignment(folder, model=model, progress=False, **options)
    with pytest.raises(UsageError, match=r"holds recordings, and .* reads text"):
        headlight.alignment(folder, progress=False)


@pytest.mark.slow
def test_the_command_says_it(
    whisper: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    undrawn: None,
) -> None:
    code, said, complained = Command(monkeypatch, capsys)(
        "alignment", str(folder), "--model", str(whisper), "--out", str(tmp_path / "times")
    )
    assert code == 0, complained
    assert "Ways to link words to time" in said
    listed = json.loads((tmp_path / "times" / "alignment_heads.json").read_text())
    assert f"“alignment_heads”: {listed['alignment_heads']}" in " ".join(said.split())
    cell = with_ends(load(tmp_path / "times"), "head_start_error").sel(measure="weight")
    errors, low = (cell[f"head_start_error{end}"].sel(step="output").values for end in ("", "_low"))
    near = [
        list(place) for place in np.ndindex(2, 2) if np.fmin(low, errors)[place] <= 2 * errors.min()
    ]
    assert listed == {"alignment_heads": near}
    GenerationConfig(**listed)
