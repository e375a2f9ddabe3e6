"""What titles call models and corpora: the end of a path, or what users say."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import headlight
from cli.program import command
from headlight.catalogue import find_study
from headlight.engine.folder import RunFolder
from headlight.reports.study_run import join_run
from headlight.views.titles import Subject
from open_folders import opening
from study_runs import StudyRuns

pytestmark = pytest.mark.usefixtures("undrawn")

LINES = "the cat sees the dog .\nthe dog hears a song .\na bird .\n"
MODEL, CORPUS = "Tiny <b>BERT</b>", "three & a half lines"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "below" / "lines.txt"
    path.parent.mkdir(parents=True)
    path.write_text(LINES)
    return path


def survey(study_runs: StudyRuns, corpus: Path, **more: Any):
    model = study_runs.data / "model"
    return headlight.survey(corpus, model=model, format="lines", progress=False, **more)


def test_titles_have_the_ends_of_paths(study_runs: StudyRuns, corpus: Path) -> None:
    assert str(Subject.from_result(survey(study_runs, corpus))) == "model reading lines.txt"


@pytest.mark.slow
def test_titles_have_the_names_that_users_give(
    study_runs: StudyRuns, corpus: Path, tmp_path: Path
) -> None:
    plain = survey(study_runs, corpus)
    out = tmp_path / "run"
    found = survey(study_runs, corpus, name=MODEL, corpus_name=CORPUS, out=out)
    assert found.drop_attrs().identical(plain.drop_attrs())
    assert found.attrs["model"] == plain.attrs["model"]  # the provenance has the path
    assert str(Subject.from_result(found)) == f"{MODEL} reading {CORPUS}"
    report = (out / "report.html").read_text()
    assert "Tiny &lt;b&gt;BERT&lt;/b&gt;" in report
    assert MODEL not in report
    again = survey(study_runs, corpus, out=out, resume=True)  # the names are no setting
    assert again.attrs == headlight.open(out).attrs
    other = survey(study_runs, corpus, out=out, resume=True, corpus_name="others")
    assert (other.attrs["model_label"], other.attrs["corpus_label"]) == (MODEL, "others")
    assert "reading <bdi>others</bdi>" in (out / "report.html").read_text()


@pytest.mark.long
def test_who_joins_a_run_knows_the_names(
    study_runs: StudyRuns, corpus: Path, tmp_path: Path
) -> None:
    survey(study_runs, corpus, name=MODEL, corpus_name=CORPUS, out=tmp_path / "first")
    repeats = yaml.safe_load((tmp_path / "first" / "config.yaml").read_text())
    for place in ("joined", "command"):
        if place == "joined":
            join_run({"study": "survey", **repeats}, str(tmp_path / place), str(tmp_path))
        else:
            config, out = tmp_path / "first" / "config.yaml", tmp_path / place
            command(["survey", "--config", str(config), "--out", str(out)])
        attributes = headlight.open(tmp_path / place).attrs
        assert (attributes["model_label"], attributes["corpus_label"]) == (MODEL, CORPUS)


def test_a_study_that_makes_its_result_by_itself_has_the_names_as_well(
    study_runs: StudyRuns, tmp_path: Path
) -> None:
    study = find_study("token_identity")
    settings = study.settings.from_mapping({**study.smallest, "layers": (1,)})
    model = headlight.load(study_runs.data / "model").called(MODEL)
    folder = RunFolder(path=tmp_path / "run", corpus_name=CORPUS)
    found = opening(study.run)(
        study_runs.data / "corpus.txt", model, settings, folder=folder, progress=False
    )
    assert (found.attrs["model_label"], found.attrs["corpus_label"]) == (MODEL, CORPUS)


def test_a_page_of_two_models_has_both_names(
    study_runs: StudyRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, page = str(study_runs.data / "model"), tmp_path / "both.html"
    words = ["read", "the cat sees the dog", "--model", model, "--html", str(page)]
    command([*words, "--name", MODEL, "--compare-model", model, "--compare-name", "the same"])
    text = page.read_text()
    assert "Tiny &lt;b&gt;BERT&lt;/b&gt; and the same." in text
    assert command([*words, "--compare-name", "the same"])
    assert "nothing is compared" in capsys.readouterr().err
