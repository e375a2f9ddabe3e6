"""Every study, killed at chosen and random moments: the same result afterwards, nothing left."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray

from deaths import KINDS, finished, killed_beside, needs_fork, random_kills
from headlight.catalogue import studies
from headlight.engine.folder import RunFolder
from headlight.errors import RunError
from headlight.reports.study_run import run_study
from headlight.result import load
from long_cases import mostly_long
from open_folders import opening
from random_moments import random_moments
from studies.models import texts
from studies.victims import VICTIMS, translations

pytestmark = needs_fork
KILLS = int(os.environ.get("HEADLIGHT_KILLS", "2"))
"""Moments that differ from study to study; `make fuzz` tries many more."""
CHANGING = ("created", "command", "seconds")
WITH_REPORT = ("survey", "coreference")
"""Two for all, since reports and tables take long."""
WAYS = ({"workers": "join"}, {"resume": True})
"""By which a run begins in a folder where there may be one already."""


def test_no_study_is_forgotten() -> None:
    assert VICTIMS.keys() == studies().keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(VICTIMS, "survey", "distances", "token_identity"))
def test_killed_at_any_moment_and_resumed_it_gives_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)
    monkeypatch.setattr("headlight.engine.batch_runner.SLOW_SHARD", 4)
    torch.set_num_threads(1)  # whose threads a child would not have
    study, victim = studies()[name], VICTIMS[name]
    settings = study.settings.from_mapping({**study.smallest, **victim.changed})
    if victim.translates:
        gold = tmp_path / "gold.talp"
        gold.write_text("".join(f"{links}\n" for _, links in translations(14)))
        settings = settings.replace(gold=str(gold))
    source, made = victim.source(), victim.model

    def run(out: Path) -> None:
        folder = RunFolder(path=out, resume=True)
        options = {"folder": folder, "progress": False, **victim.options}
        if name in WITH_REPORT:
            run_study(study, source, settings, made, **options)
        else:
            opening(study.run)(source, made, settings, **options)

    whole, out = tmp_path / "whole", tmp_path / "out"
    run(whole)
    # Of one seed, studies die at moments of different kinds.
    generator, died, folders = random_moments().spawn(len(VICTIMS))[[*VICTIMS].index(name)], 0, 0
    while died < KILLS:
        out = tmp_path / f"out-{folders}"
        first = int(generator.integers(len(KINDS)))  # some kinds come late, or never
        died += random_kills(lambda out=out: run(out), out, KILLS - died, generator, first)
        assert_same(whole, out)
        folders += 1
        assert folders < 10 + KILLS


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_of_two_runs_on_one_folder_one_is_killed_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes on with what is there or joins those that are; the other may be refused for it."""
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)
    torch.set_num_threads(1)
    study, made = studies()["distances"], VICTIMS["distances"].model
    corpus, generator = tmp_path / "corpus.txt", random_moments()
    corpus.write_text("\n\n".join(texts(24, longest=8)))
    settings = study.settings.from_mapping({**study.smallest, "measures": ["weight"]})

    def run(out: Path, how: dict[str, Any]) -> None:
        run_study(study, str(corpus), settings, made, RunFolder(path=out, **how), progress=False)

    def try_to_run(out: Path, how: dict[str, Any]) -> None:
        with suppress(RunError):
            run(out, how)

    whole, out, died, folders = tmp_path / "whole", tmp_path / "out", 0, 0
    run(whole, {"workers": "join"})
    while died < KILLS:
        out = tmp_path / f"out-{folders}"
        for _ in range(3):
            works = [
                partial(try_to_run, out, WAYS[int(generator.integers(len(WAYS)))]) for _ in range(2)
            ]
            kind = KINDS[int(generator.integers(len(KINDS)))]
            died += killed_beside(*works, out, kind, int(generator.integers(1, 9)))
        finished(partial(run, out, {"resume": True}))
        assert_same(whole, out)
        folders += 1
        assert folders < 10 + KILLS


def assert_same(whole: Path, out: Path) -> None:
    """Not one bit of the numbers differs, and there is nothing that a whole run has not."""
    expected, found = (load(folder / "result.nc") for folder in (whole, out))
    xarray.testing.assert_identical(*(_fixed(each) for each in (found, expected)))
    names, others = (
        {str(path.relative_to(folder)) for path in folder.rglob("*")} for folder in (out, whole)
    )
    assert names == others


def _fixed(result: xarray.Dataset) -> xarray.Dataset:
    """Without what says when it was made, and how long it took."""
    kept = {name: value for name, value in result.attrs.items() if name not in CHANGING}
    return result.drop_vars("seconds", errors="ignore").drop_attrs(deep=False).assign_attrs(kept)
