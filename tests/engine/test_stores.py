"""Runs whose folder is in a store: the same result, resumed as in a folder of this machine."""

from pathlib import Path

import pytest

from headlight import files
from headlight.engine import passes
from headlight.engine.folder import RunFolder
from headlight.errors import RunError, RunInterruptedError, UsageError
from headlight.output_folder import RECORD
from headlight.result import load, save
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as run_survey
from interruptions import interrupted_after
from open_folders import opening
from studies.models import model, texts

survey = opening(run_survey)

SETTINGS = SurveySettings(max_length=16)


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path: Path) -> str:
    return f"{request.param}://{tmp_path}/runs/one"


def names(address: str) -> set[str]:
    return {each.name for each in files.location(address).iterdir()}


@pytest.mark.slow
def test_a_result_in_a_store_is_that_of_memory(address: str) -> None:
    found, corpus = model("bert"), texts(9)
    alone = survey(corpus, found, SETTINGS, progress=False)
    kept = survey(corpus, found, SETTINGS, folder=RunFolder(path=address), progress=False)
    assert kept.drop_attrs().identical(alone.drop_attrs())
    again = load(f"{address}/result.nc", stage="survey")
    assert again.drop_attrs().identical(alone.drop_attrs())
    assert names(address) == {"result.nc", RECORD}


@pytest.mark.slow
def test_a_run_in_a_store_is_resumed_with_the_same_bits(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)
    found, corpus = model("bert"), texts(19)
    whole = survey(corpus, found, SETTINGS, progress=False)
    message = r"8 examples are done .*runs/one"
    with interrupted_after(2), pytest.raises(RunInterruptedError, match=message):
        survey(corpus, found, SETTINGS, folder=RunFolder(path=address), progress=False)
    folder = RunFolder(path=address, resume=True)
    resumed = survey(corpus, found, SETTINGS, folder=folder, progress=False)
    assert resumed.drop_attrs().identical(whole.drop_attrs())
    again = survey(corpus, found, SETTINGS, folder=folder, progress=False)
    assert again.attrs["created"] == resumed.attrs["created"]


@pytest.mark.slow
def test_a_run_in_a_store_is_replaced_only_if_that_is_said(address: str) -> None:
    found = model("bert")
    survey(texts(3), found, SETTINGS, folder=RunFolder(path=address), progress=False)
    with pytest.raises(UsageError, match=r"runs/one holds a run already \(result"):
        survey(texts(5), found, SETTINGS, folder=RunFolder(path=address), progress=False)
    folder = RunFolder(path=address, resume=True)
    with pytest.raises(RunError, match="corpus has changed"):
        survey(texts(5), found, SETTINGS, folder=folder, progress=False)
    folder = RunFolder(path=address, overwrite=True)
    assert survey(texts(5), found, SETTINGS, folder=folder, progress=False).attrs["examples"] == 5


@pytest.mark.slow
def test_a_result_of_an_earlier_version_is_not_taken_for_another_corpus(tmp_path: Path) -> None:
    found = model("bert")
    kept = survey(texts(3), found, SETTINGS, folder=RunFolder(path=tmp_path), progress=False)
    save(kept.assign_attrs(corpus_digest="14f21a04"), tmp_path / "result.nc")
    folder = RunFolder(path=tmp_path, resume=True)
    with pytest.raises(RunError, match=r"by an earlier version .* overwrite=True"):
        survey(texts(3), found, SETTINGS, folder=folder, progress=False)
    assert load(tmp_path / "result.nc").attrs["examples"] == 3


def test_a_store_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class CredentialsError(Exception):
        """Such as drivers have, outside the tree of OSError."""

    def refuse(*arguments: object) -> bool:
        raise CredentialsError("there are no credentials")

    monkeypatch.setattr(type(files.location("memory://runs")), "exists", refuse)
    with pytest.raises(RunError, match=r"runs/one cannot be used: there are no credentials\.$"):
        RunFolder(path="memory://runs/one").check_free()


def test_a_store_that_takes_nothing_is_refused_before_the_model_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Access Denied")

    def busy(*_: object) -> None:
        raise AssertionError("the model ran")

    address = "memory://read-only/one"
    monkeypatch.setattr(type(files.location(address)), "write_bytes", refuse)
    monkeypatch.setattr(passes.BatchRunner, "__call__", busy)
    with pytest.raises(RunError, match="cannot be used: the folder may not be written to"):
        survey(texts(3), model("bert"), SETTINGS, folder=RunFolder(path=address), progress=False)
