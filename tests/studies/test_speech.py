"""Studies of recordings, beside the readings of the same recordings."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import headlight
from headlight.errors import CorpusError, UsageError
from headlight.reading.model import Model
from headlight.result.kinds import of_kind
from speech_material import POSITIONS, SAID, recordings, tiny_whisper, wav
from studies.command import Command


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
def readings(model: Model, folder: Path) -> dict[str, dict[str, xarray.Dataset]]:
    return {
        kind: {
            name: model.read(SAID[name][1], audio=folder / f"{name}.wav", kind=kind).dataset  # type: ignore[arg-type]
            for name in SAID
        }
        for kind in ("cross", "encoder", "decoder")
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cross", "encoder"])
@pytest.mark.parametrize("measure", ["weight", "norm", "effective"])
def test_the_survey_counts_what_the_readings_hold(
    model: Model, folder: Path, readings: dict, kind: str, measure: str
) -> None:
    """What goes to sound, averaged over what attends, and then over recordings."""
    found = headlight.survey(folder, model=model, kind=kind, progress=False)
    assert found.attrs["recordings"] == len(SAID)
    to_sound = found["total"].sel(measure=measure, query_category="all", key_category="other")
    expected = np.mean(
        [each[measure].sum("key").mean("query") for each in readings[kind].values()], 0
    )
    np.testing.assert_allclose(to_sound, expected, rtol=1e-4, atol=1e-6)
    if measure == "weight":
        silence = found["share"].sel(measure="weight", query_category="all", key_category="sep")
        np.testing.assert_allclose(silence, 1 - expected, rtol=1e-4, atol=1e-6)
    assert float(found["entropy_uniform"]) == pytest.approx(np.log(POSITIONS))


@pytest.mark.slow
def test_the_survey_sees_the_decoder(model: Model, folder: Path, readings: dict) -> None:
    found = headlight.survey(folder, model=model, kind="decoder", progress=False)
    entropy = [each["entropy"].mean("query") for each in readings["decoder"].values()]
    seen = found["entropy"].sel(measure="weight", query_category="all")
    np.testing.assert_allclose(seen, np.mean(entropy, 0), rtol=1e-4)


@pytest.mark.slow
def test_all_kinds_at_once_are_those_alone(model: Model, folder: Path) -> None:
    together = headlight.survey(folder, model=model, kind="all", progress=False)
    for kind in ("cross", "encoder", "decoder"):
        alone = headlight.survey(folder, model=model, kind=kind, progress=False)
        part = of_kind(together, kind)
        # The other kinds keep their fast attention there, whose last bits are others.
        np.testing.assert_allclose(part["total"], alone["total"], rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "options"), [("survey", {"kind": "cross"}), ("alignment", {})])
def test_workers_and_resumed_runs_have_the_same_bits(
    whisper: Path, folder: Path, tmp_path: Path, study: str, options: dict, undrawn: None
) -> None:
    run = getattr(headlight, study)
    given = {"model": str(whisper), "progress": False, **options}
    alone = run(str(folder), out=tmp_path / "one", **given)
    shared = run(str(folder), out=tmp_path / "two", workers=2, **given)
    resumed = run(str(folder), out=tmp_path / "one", resume=True, **given)
    for other in (shared, resumed):
        for name in alone.data_vars:
            np.testing.assert_array_equal(alone[name].values, other[name].values)


def test_what_is_too_long_is_left_out_and_counted(
    model: Model, folder: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(folder, tmp_path / "own")
    wav(own / "long.wav", 1.2)
    (own / "long.txt").write_text("One second.", encoding="utf-8")
    found = headlight.survey(own, model=model, kind="cross", progress=False)
    assert (found.attrs["examples"], found.attrs["too_long"]) == (3, 1)
    with pytest.raises(CorpusError, match=r"long\.wav lasts 1\.2 s, and 1 s at most"):
        headlight.survey(own, model=model, overflow="error", progress=False)


@pytest.mark.slow
def test_mistakes_are_one_sentence(model: Model, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads speech, for which there is no sample"):
        headlight.survey(None, model=model, progress=False)
    with pytest.raises(UsageError, match="recordings are no texts; leave out pairs"):
        headlight.survey(folder, model=model, pairs=True, progress=False)
    with pytest.raises(UsageError, match=r"holds recordings, and .* reads text"):
        headlight.survey(folder, progress=False)
    broken = shutil.copytree(folder, tmp_path / "broken")
    (broken / "b.wav").write_bytes(b"RIFF")
    with pytest.raises(CorpusError, match=r"b\.wav cannot be read as sound"):
        headlight.survey(broken, model=model, progress=False)


@pytest.mark.slow
def test_the_command_says_it(
    whisper: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    undrawn: None,
) -> None:
    command = Command(monkeypatch, capsys)
    out = tmp_path / "run"
    code, _, complained = command(
        "survey", str(folder), "--model", str(whisper), "--kind", "encoder", "--out", str(out)
    )
    assert code == 0, complained
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "3 recordings, each heard as a whole window" in report
    assert "final silence" in report
    assert "[CLS]" not in report.split("How this was made")[0]
    code, _, complained = command("survey", str(folder), "--out", str(tmp_path / "other"))
    assert code == 2
    assert "holds recordings" in complained


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "kind", "more"),
    [
        ("survey", "decoder", {"numbers": ["ranks"]}),
        *(("distances", kind, {}) for kind in ("cross", "encoder", "decoder")),
    ],
)
def test_other_studies_of_texts_hear_as_well(
    model: Model,
    folder: Path,
    tmp_path: Path,
    study: str,
    kind: str,
    more: dict[str, Any],
    undrawn: None,
) -> None:
    found = getattr(headlight, study)(
        folder, model=model, kind=kind, out=tmp_path / "run", progress=False, **more
    )
    assert found.attrs["recordings"] == len(SAID)
    assert "3 recordings" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_frames_have_no_frequency(model: Model, folder: Path) -> None:
    with pytest.raises(UsageError, match="frames of sound are no tokens; choose the decoder"):
        headlight.survey(folder, model=model, kind="cross", numbers=["ranks"], progress=False)
