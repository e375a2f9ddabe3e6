"""The command `reproduce brunner2020`, on a tiny model and pairs of our own."""

import shutil
from pathlib import Path

import pandas
import pytest

from frozen_paper_runs import PAPER_RUNS, PaperMaterial
from headlight_papers.papers import find_paper
from headlight_papers.papers.exhibit_needs import NEEDS

EXHIBITS = find_paper("brunner2020").exhibits


@pytest.fixture(scope="module")
def model(material: PaperMaterial) -> Path:
    return material.long


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    """Everything at once, as a user would."""
    return material.reproduction("brunner2020")


# What is said without a model


def test_exhibits_are_listed_in_the_order_of_the_paper(headlight):
    code, said, _ = headlight("reproduce", "brunner2020", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [spec.name for spec in EXHIBITS]
    figures = [int(spec.name.partition("-")[2]) for spec in EXHIBITS if spec.name[:6] == "figure"]
    assert figures == sorted(set(figures))
    assert "figure-43" in said
    assert "(needs mnli)" in said


def test_every_need_is_one_that_is_known():
    for spec in EXHIBITS:
        assert set(spec.needs) <= set(NEEDS)


@pytest.mark.parametrize(
    ("arguments", "part", "code"),
    [
        (["--only", "figure-44"], "no exhibit of brunner2020 is called 'figure-44'", 2),
        (["--pairs", "none.tsv"], "there is no file or folder none.tsv", 1),
        (["--pairs", "broken.tsv"], "broken.tsv:1: the first line fits none of the formats", 1),
        (["--pairs", "empty.tsv"], "empty.tsv holds no sentence", 1),
        (["--pairs", "hf:"], "hf:NAME", 2),
        (["--data", "nowhere"], "there is no folder nowhere", 1),
        (["--data", "."], "whose name says what it is", 1),
        (["--directions", "1"], "--directions", 2),
        (["--solver", "magic"], "magic", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_requests_are_refused_before_a_model_is_loaded(
    headlight, monkeypatch, tmp_path, arguments, part, code
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headlight_papers.papers.reproduction.load_model", None)
    Path("broken.tsv").write_text("one\ttwo\n")
    Path("empty.tsv").write_text("")
    sentence = headlight.refused("reproduce", "brunner2020", *arguments, code=code)
    assert part in sentence
    assert not Path("headlight-brunner2020").exists()


@pytest.mark.parametrize("said", ["pairs: 'no,ne.tsv'", "pairs: ['no,ne.tsv', other.tsv]"])
def test_sources_of_a_config_file_may_hold_commas(headlight, tmp_path, said):
    config = tmp_path / "config.yaml"
    config.write_text(said)
    out = ("--out", tmp_path / "out")
    for given in (["--config", config], ["--pairs", "no,ne.tsv", "--pairs", "other.tsv"]):
        sentence = headlight.refused("reproduce", "brunner2020", *given, *out)
        assert "there is no file or folder no,ne.tsv" in sentence


# What is said with one


def test_a_second_model_that_is_not_there(headlight, model, tmp_path):
    sentence = headlight.refused("reproduce", "brunner2020", "--model", model, "--compare",
                                 tmp_path / "nothing", "--out", tmp_path / "out")  # fmt: skip
    assert "nothing" in sentence


@pytest.mark.slow
def test_without_pairs_what_needs_them_is_named_on_the_page(headlight, model, tmp_path):
    folder = tmp_path / "out"
    code, _, complained = headlight("reproduce", "brunner2020", "--model", model, "--out", folder,
                                    "--only", "figure-3,figure-26,figure-42")  # fmt: skip
    assert code == 0
    assert complained.count("left out") == 3
    page = (folder / "index.html").read_text()
    for need in ("pairs", "dependency", "mnli"):
        assert NEEDS[need].missing in page


@pytest.mark.long
@pytest.mark.parametrize("spec", EXHIBITS, ids=lambda spec: spec.name)
def test_every_exhibit_is_a_section_with_files_of_its_own(out, spec):
    assert f'id="{spec.name}"' in (out / "index.html").read_text()
    for suffix in ("svg", "png", "csv") if spec.name.startswith("figure") else ("csv",):
        found = [path for path in out.glob(f"*.{suffix}")
                 if path.stem == spec.name or path.stem.startswith(f"{spec.name}-")]  # fmt: skip
        assert found, suffix
        assert all(path.stat().st_size for path in found)


@pytest.mark.long
def test_the_page_says_what_was_read(out):
    page = (out / "index.html").read_text()
    for name in ("dev.txt", "dev.tsv", "dev_matched.tsv", "compared with"):
        assert name in page
    assert page.index('id="figure-3"') < page.index('id="figure-40"')


@pytest.mark.long
def test_own_contributions_are_shares(out):
    rows = pandas.read_csv(out / "figure-3.csv")
    assert list(rows["layer"]) == [1, 2]
    assert rows["median"].between(0, 100).all()
    assert (rows["1st quartile"] <= rows["median"]).all()
    assert (rows["median"] <= rows["3rd quartile"]).all()


@pytest.mark.long
def test_a_finished_reproduction_is_resumed_without_a_model_at_work(
    headlight, monkeypatch, out, material, tmp_path
):
    def not_again(*given: object) -> None:
        raise AssertionError("the model runs again")

    monkeypatch.setattr("headlight.engine.batch_runner.BatchRunner.__call__", not_again)
    out = shutil.copytree(out, tmp_path / "out")
    (out / "index.html").unlink()
    code, said, complained = headlight(
        "reproduce", "brunner2020", "--model", material.long, "--compare", material.compared,
        "--data", material.texts, "--out", out, *PAPER_RUNS["brunner2020"].options,
        "--only", "figure-3,figure-4,figure-40", "--resume",
    )  # fmt: skip
    assert code == 0, complained
    assert "index.html" in said
