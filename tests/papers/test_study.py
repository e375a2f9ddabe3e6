"""Results of a study are made once, kept, and made again only when something differs."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import xarray

from headlight.errors import UnknownNameError, UsageError
from headlight.papers.plan import Paper, Plan
from headlight.papers.reproduction import CONCERNS, Options, Place, Study, file_state
from headlight.papers.sources import Sources
from studies.models import model


def study(folder: Path, **options: object) -> Study:
    return Study(model("bert"), None, Sources(), Options(**options), folder)  # type: ignore[arg-type]


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, run: Path) -> xarray.Dataset:
        assert run.is_dir()
        self.calls += 1
        return xarray.Dataset({"value": float(self.calls)})


def test_a_result_is_made_once_and_found_again(tmp_path: Path) -> None:
    make = Maker()
    first = study(tmp_path)
    assert float(first.kept("a", "survey", make)["value"]) == 1
    assert float(first.kept("a", "survey", make)["value"]) == 1
    assert float(study(tmp_path).kept("a", "survey", make)["value"]) == 1
    assert make.calls == 1


def test_a_result_of_other_settings_is_made_again(tmp_path: Path) -> None:
    make = Maker()
    study(tmp_path).kept("a", "survey", make, text="one")
    study(tmp_path).kept("a", "survey", make, text="another")
    study(tmp_path, seed=7).kept("a", "survey", make, text="another")
    assert make.calls == 3


def test_an_option_concerns_only_some_results(tmp_path: Path) -> None:
    make = Maker()
    study(tmp_path).kept("a", "token_identity", make)
    study(tmp_path).kept("b", "contributions", make)
    study(tmp_path, folds=3).kept("a", "token_identity", make)
    study(tmp_path, folds=3).kept("b", "contributions", make)
    assert make.calls == 3


def test_every_option_that_concerns_some_results_only_is_one() -> None:
    assert set(CONCERNS) <= {field.name for field in fields(Options)}


def test_what_was_half_done_is_found_unless_it_was_with_other_settings(tmp_path: Path) -> None:
    def interrupted(run: Path) -> xarray.Dataset:
        (run / "half").write_text("done")
        raise KeyboardInterrupt

    seen = []

    def make(run: Path) -> xarray.Dataset:
        seen.append((run / "half").exists())
        return xarray.Dataset()

    for seed in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            study(tmp_path / str(seed)).kept("a", "survey", interrupted)
        study(tmp_path / str(seed), seed=seed).kept("a", "survey", make)
    assert seen == [True, False]


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    make = Maker()
    study(tmp_path).kept("a", "survey", make)
    (tmp_path / "results" / "a.nc").write_bytes(b"not a result")
    study(tmp_path).kept("a", "survey", make)
    assert make.calls == 2


def test_files_are_known_by_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one")
    before = file_state(str(path))
    assert file_state(str(path)) == before
    path.write_text("other")
    assert file_state(str(path)) != before
    assert file_state("hf:imdb") == ["hf:imdb"]


def test_unknown_measures_and_exhibits_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="weight"):
        Options(measures=("wieght",))
    with pytest.raises(UsageError, match="no measure"):
        Options(measures=())
    paper = Paper("clark2019", "", "", (Plan("table-1", "", lambda study, desk: None),))  # type: ignore[arg-type,return-value]
    with pytest.raises(UnknownNameError, match="table-1"):
        paper.chosen(("table-l",))
    with pytest.raises(UsageError, match="no exhibit"):
        paper.chosen(())


def test_an_exhibit_says_what_it_lacks(tmp_path: Path) -> None:
    plan = Plan("table-1", "", lambda study, desk: None, needs=("dependency",))  # type: ignore[arg-type,return-value]
    without = study(tmp_path)
    assert "--dependency" in str(plan.missing(without))
    without.sources = replace(without.sources, dependency=("x.conllu",))
    assert plan.missing(without) is None


def test_results_of_before_are_neither_mixed_nor_lost(tmp_path: Path) -> None:
    study(Place(tmp_path / "out").made()).kept("a", "survey", Maker())
    with pytest.raises(UsageError, match="--resume"):
        Place(tmp_path / "out").made()
    assert (Place(tmp_path / "out", resume=True).made() / "results" / "a.nc").exists()
    assert not (Place(tmp_path / "out", overwrite=True).made() / "results").exists()
    with pytest.raises(UsageError, match="choose"):
        Place(tmp_path / "out", resume=True, overwrite=True).made()
