"""The command `reproduce clark2019`, on a tiny model and data of our own."""

import shutil
from pathlib import Path

import pandas
import pytest

from frozen_paper_runs import PAPER_RUNS, PaperMaterial
from headlight.capture import load_model
from headlight_papers.papers import find_paper
from headlight_papers.papers.clark2019 import published
from headlight_words.corpora import open_treebank
from headlight_words.findings.dependency import best_heads
from headlight_words.studies.dependency.study import run
from papers.material import saved_model

EXHIBITS = find_paper("clark2019").exhibits
QUICK = PAPER_RUNS["clark2019"].options


@pytest.fixture(scope="module")
def model(material: PaperMaterial) -> Path:
    return material.sharp


@pytest.fixture(scope="module")
def data(material: PaperMaterial) -> Path:
    return material.texts


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    """Everything at once, as a user would."""
    return material.reproduction("clark2019")


@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out):
    page = (out / "index.html").read_text()
    for spec in EXHIBITS:
        assert f'id="{spec.name}"' in page
        assert list(out.glob(f"{spec.name}*.svg")), spec.name
        assert list(out.glob(f"{spec.name}*.png")), spec.name
    for spec in EXHIBITS:
        if spec.name != "figure-5":  # which is drawings alone
            tables = list(out.glob(f"{spec.name}*.csv"))
            assert tables, spec.name
            assert all(len(pandas.read_csv(table)) for table in tables)


@pytest.mark.slow
def test_the_published_numbers_stand_beside_ours(out):
    page = (out / "index.html").read_text()
    for number in ("94.3", "3.89", "61", "there head L4H3 (5-4), here L"):
        assert number in page
    assert "BERT-base, 12 layers of 12" in page
    assert published.AUXPASS_ERRATUM.split(";")[0][:40] in page


@pytest.mark.slow
def test_table_1_holds_what_the_evaluation_finds(out, model, data):
    found = pandas.read_csv(out / "table-1-ours-dev.csv").set_index("relation")
    subject = load_model(model)
    result = run(open_treebank(data / "ud_ours" / "ours-dev.conllu"), subject, progress=False)
    best = best_heads(result, "norm").set_index("relation")
    assert list(found.index) == list(best.index)
    for relation, row in best.iterrows():
        assert found.loc[relation, "norm"] == pytest.approx(100 * row["accuracy"])
        layer, head = row["layer"], row["head"]
        assert found.loc[relation, "norm head"] == f"L{layer}H{head} ({layer + 1}-{head + 1})"
    weight = best_heads(result, "weight").set_index("relation")
    assert found.loc["all", "baseline"] == pytest.approx(100 * weight.loc["all", "baseline"])


@pytest.mark.slow
def test_all_measures_are_asked(out):
    probes = pandas.read_csv(out / "table-3.csv")
    assert set(probes["measure"].dropna()) == {"weight", "norm", "effective"}
    heads = pandas.read_csv(out / "figure-6.csv")
    assert set(heads["measure"]) == {"weight", "norm", "effective", "gradient"}
    assert set(heads["head"]) == {"L0H0 (1-1)", "L0H1 (1-2)", "L1H0 (2-1)", "L1H1 (2-2)"}


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_results_are_used_again_and_never_by_accident(out, headlight, model, data, tmp_path):
    out = shutil.copytree(out, tmp_path / "out")
    arguments = ("reproduce", "clark2019", "--model", model, "--data", data, "--out", out, *QUICK)
    assert "--resume" in headlight.refused(*arguments, code=2)
    before = {path: path.stat().st_mtime_ns for path in (out / "results").iterdir()}
    code, said, _ = headlight(*arguments, "--resume", "--only", "figure-4,table-1")
    assert code == 0
    assert "Focused and broad attention" in said
    assert {path: path.stat().st_mtime_ns for path in (out / "results").iterdir()} == before


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_a_treebank_alone_is_enough(headlight, model, data, tmp_path):
    bank = data / "ud_ours" / "ours-dev.conllu"
    code, _, complained = headlight(
        "reproduce", "clark2019", "--model", model, "--dependency", bank, "--out", tmp_path / "out",
        "--measures", "weight", "--only", "table-1,table-2,table-3,figure-3", *QUICK,
    )  # fmt: skip
    assert code == 0, complained
    assert "table-2: left out" in complained
    assert "figure-3: left out" in complained
    page = (tmp_path / "out" / "index.html").read_text()
    assert "no coreference corpora were given (--coreference)" in page
    assert "nine tenths of ours-dev" in page


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_a_model_without_a_head_has_no_gradient(headlight, data, tmp_path):
    bare = saved_model(tmp_path / "bare", head=False)
    code, _, complained = headlight(
        "reproduce", "clark2019", "--model", bare, "--data", data, "--out", tmp_path / "out",
        "--only", "figure-3,section-3-1", *QUICK,
    )  # fmt: skip
    assert code == 0, complained
    assert "figure-3: left out" in complained
    rows = pandas.read_csv(tmp_path / "out" / "section-3-1.csv")
    assert set(rows["measure"]) == {"weight", "norm", "effective"}


def test_the_exhibits_are_listed_with_their_needs(headlight):
    code, said, _ = headlight("reproduce", "clark2019", "--list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [spec.name for spec in EXHIBITS]
    assert "needs dependency" in said


def test_mistakes_are_told_before_anything_runs(headlight, tmp_path):
    arguments = ("reproduce", "clark2019", "--out", tmp_path / "out")
    assert "table-1" in headlight.refused(*arguments, "--only", "table-l", code=2)
    assert "weight" in headlight.refused(*arguments, "--measures", "wait", code=2)
    assert "no folder" in headlight.refused(*arguments, "--data", tmp_path / "none")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "needs"),
    [
        ("--text", "table-2"),
        ("--dependency", "table-1"),
        ("--dependency-train", "table-3"),
        ("--coreference", "table-2"),
        ("--word-vectors", "table-3"),
        ("--pairs", "figure-2"),
    ],
)
def test_what_cannot_be_read_is_told_before_the_model_is_loaded(
    headlight, tmp_path, monkeypatch, option, needs
):
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("headlight_papers.papers.reproduction.load_model", unwanted)
    asked = () if option == "--pairs" else ("--only", needs)
    paper = "brunner2020" if option == "--pairs" else "clark2019"
    said = headlight.refused(
        "reproduce", paper, "--out", tmp_path / "out", *asked, option, tmp_path / "none.txt"
    )
    assert "none.txt" in said
    assert not (tmp_path / "out").exists()


def test_results_that_nobody_spoke_of_are_told_before_the_model_is_loaded(
    headlight, tmp_path, monkeypatch
):
    monkeypatch.setattr("headlight_papers.papers.reproduction.load_model", None)
    (tmp_path / "results").mkdir()
    said = headlight.refused("reproduce", "clark2019", "--out", tmp_path, code=2)
    assert "holds a run already (results)" in said


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_a_broken_treebank_is_refused_or_skipped_and_told(headlight, model, data, tmp_path):
    bank = tmp_path / "broken.conllu"
    good = (data / "ud_ours" / "ours-dev.conllu").read_text()
    bank.write_text(good + "1\tthe\tthe\tDET\t_\t_\t9\tdet\t_\t_\n\n")
    arguments = ("reproduce", "clark2019", "--model", model, "--dependency", bank, "--only",
                 "table-1", "--measures", "weight", *QUICK)  # fmt: skip
    line = len(good.splitlines()) + 1
    assert f"{bank}:{line}" in headlight.refused(*arguments, "--out", tmp_path / "one")
    code, _, complained = headlight(*arguments, "--out", tmp_path / "two", "--invalid", "skip")
    assert code == 0, complained
    assert "1 sentences with invalid annotation" in (tmp_path / "two" / "index.html").read_text()


def test_the_tables_of_the_paper_agree_with_each_other():
    for head, relation, accuracy in published.FIGURE_5[:-1]:
        assert published.TABLE_1[relation].head == head
        assert published.TABLE_1[relation].accuracy == accuracy
    assert all(row.accuracy > row.baseline for row in published.TABLE_1.values())
