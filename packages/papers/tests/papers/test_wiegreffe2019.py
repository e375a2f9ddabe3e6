"""The command `reproduce wiegreffe2019`, on a few texts of our own."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from frozen_paper_runs import PAPER_RUNS, PaperMaterial
from headlight.result import load
from headlight_papers.papers import find_paper, find_settings
from headlight_papers.papers.exhibit_needs import NEEDS
from headlight_papers.papers.settings import RESULTS
from headlight_papers.papers.text_classifiers import MODELS, ClassifierTrainer

EXHIBITS = find_paper("wiegreffe2019").exhibits
SMALL = PAPER_RUNS["wiegreffe2019"].options


@pytest.fixture(scope="module")
def data(material: PaperMaterial) -> Path:
    return material.films


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    return material.reproduction("wiegreffe2019")


@pytest.fixture(scope="module")
def found(out):
    return load(out / RESULTS / "sst.nc", stage="wiegreffe2019")


def test_exhibits_are_listed(headlight):
    code, said, _ = headlight("reproduce", "wiegreffe2019", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [spec.name for spec in EXHIBITS]
    assert said.count("(needs labelled)") == len(EXHIBITS)


def test_a_model_is_not_wanted(headlight):
    said = headlight.refused("reproduce", "wiegreffe2019", "--model", "bert", code=2)
    assert "wiegreffe2019 trains models of its own and does not take --model" in said


def test_without_labelled_texts_the_page_says_so(headlight, tmp_path):
    code, _, complained = headlight("reproduce", "wiegreffe2019", "--out", tmp_path / "out")
    assert code == 0
    assert complained.count("left out") == len(EXHIBITS)
    assert NEEDS["labelled"].missing in (tmp_path / "out" / "index.html").read_text()


def test_defaults_are_the_paper_s_unless_somebody_chooses():
    settings = find_settings("wiegreffe2019")
    assert settings().predictions == "tvd"
    assert settings().max_texts == 1500
    assert settings(lambdas=(0.5,)).lambdas == (0.5,)
    assert find_settings("yang2020")().predictions == "labels"


@pytest.mark.parametrize("spec", EXHIBITS, ids=lambda spec: spec.name)
@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out, spec):
    page = (out / "index.html").read_text()
    assert f'id="{spec.name}"' in page
    suffixes = ("svg", "png") if spec.name.startswith("figure") else ("csv",)
    for suffix in suffixes:
        assert (out / f"{spec.name}.{suffix}").stat().st_size


@pytest.mark.slow
def test_the_page_names_data_and_differences(out):
    page = (out / "index.html").read_text()
    for words in ("SST 72 / 8 / 20", "models of the paper, trained here", "a 95% interval",
                  "as quoted; not checked against the paper", "half of it"):  # fmt: skip
        assert words in page


@pytest.mark.slow
def test_the_result_has_a_row_for_every_model(found):
    rows = found[["kind", "encoder", "weight", "guide"]].to_dataframe()
    counts = rows.groupby(["kind", "encoder"]).size().to_dict()
    assert counts == {
        ("base", "lstm"): 2, ("base", "transformer"): 2, ("base", "average"): 2,
        ("guided", "lstm"): 2, ("guided", "transformer"): 2, ("guided", "average"): 6,
        ("adversary", "lstm"): 2, ("adversary", "transformer"): 2,  # 0 is always there
        ("seed", "lstm"): 1, ("seed", "transformer"): 1,
        ("uniform", "lstm"): 1, ("uniform", "transformer"): 1,
    }  # fmt: skip
    base = found.isel(run=(found["kind"] == "base").values)
    assert np.isnan(base["jsd"]).all()
    others = found.isel(run=(found["kind"] != "base").values)
    assert ((others["jsd"] >= 0) & (others["jsd"] <= np.log(2))).all()
    assert ((others["tvd"] >= 0) & (others["tvd"] <= 1)).all()
    given = found.isel(run=(found["guide"] == "base").values)
    np.testing.assert_allclose(given["jsd"], 0, atol=1e-9)


@pytest.mark.slow
def test_numbers_of_single_texts_are_those_of_the_models(found):
    assert found.sizes["text"] == 20
    assert ((found["largest"] > 0) & (found["largest"] <= 1)).all()
    test = found.sel(part="test")
    for encoder in ("lstm", "transformer"):
        of = found.sel(encoder_of=encoder)
        mine = test.isel(run=(test["encoder"] == encoder).values)
        seed = mine.isel(run=(mine["kind"] == "seed").values)
        np.testing.assert_allclose(of["seed_jsd"].mean(), seed["jsd"].item(), rtol=1e-6)
        taught = mine.isel(run=(mine["kind"] == "adversary").values)
        np.testing.assert_allclose(of["adversary_jsd"].mean("text"), taught["jsd"], rtol=1e-6)
        assert int(of["instance_jsd"].notnull().sum()) == 2
        assert float(of["instance_tvd"].max()) <= 0.05


@pytest.mark.slow
def test_what_is_finished_is_not_trained_again(headlight, monkeypatch, out, data, tmp_path):
    """Not even where a result is gone, or more is asked for, but for what is new."""
    trained = []
    run = ClassifierTrainer.run

    def noted(trainer, job):
        trained.append(job)
        run(trainer, job)

    monkeypatch.setattr(ClassifierTrainer, "run", noted)
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / RESULTS / "sst.nc").unlink()
    more = ["--lambdas", "0.1,0.5", *SMALL[2:], "--only", "table-4", "--resume"]
    code, _, complained = headlight(
        "reproduce", "wiegreffe2019", "--data", data, "--out", copy, *more
    )
    assert code == 0, complained
    assert {job.name for job in trained} == {
        "adversary-lstm-0-0.5", "adversary-transformer-0-0.5",
        "guided-average-0-0.5-adversary-lstm",
    }  # fmt: skip
    assert len(list((copy / RESULTS / MODELS / "sst").glob("base-*"))) == 6
