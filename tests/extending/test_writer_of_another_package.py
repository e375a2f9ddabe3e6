"""The format in docs/extending.md, installed as another package, is written like all others."""

from pathlib import Path

import pytest

import example_data
from extending.guide import install
from extending.test_study_of_another_package import called, headlight
from headlight.catalogue.questions import QUESTIONS
from headlight.reading.alternatives import Alternatives
from headlight.reading.explanation import Explanation
from headlight.reading.flow import Flow
from headlight.reading.generation import Generation
from headlight.reading.patching import Patching
from headlight.reading.prediction import Prediction
from headlight.reading.reading import Reading
from headlight.reading.routes import Routes
from headlight.reading.similarity import Similarity
from headlight.reading.sources import Sources

TEXT = "the old mill keeps a town"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package beside what an installer writes of it, a corpus and a model."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "cells", "A format of answers and results", also={"json": "cells:ROWS"})
    example_data.write(folder)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


def test_an_answer_has_the_formats_that_its_command_takes() -> None:
    """What is looked at before the work is what is written after it."""
    answers = (
        *(Alternatives, Explanation, Flow, Generation, Patching, Prediction, Reading, Routes),
        *(Similarity, Sources),
    )
    assert {answer.question for answer in answers} == set(QUESTIONS)


@pytest.mark.slow
def test_commands_write_it_and_their_help_says_so(place: Path) -> None:
    said = headlight(place, "routes", "--help")
    assert ".rows (the number of cells of each variable)" in " ".join(said.replace("│", "").split())
    for command in ("read", "routes"):
        words = (command, TEXT, "--model", "model", "--out", f"{command}.rows")
        done = called(place, "-m", "headlight", *words)
        assert done.returncode == 0, done.stderr
        assert "the writer json of the package cells is left out" in done.stderr
    assert "weight\t" in (place / "read.rows").read_text(encoding="utf-8")
    assert "share\t" in (place / "routes.rows").read_text(encoding="utf-8")


@pytest.mark.slow
def test_answers_in_python_are_saved_so_and_another_suffix_is_refused(place: Path) -> None:
    done = called(
        place,
        "-c",
        "import headlight\n"
        "model = headlight.load('model')\n"
        f"reading = model.read({TEXT!r})\n"
        "assert 'weight' in reading.save('a.rows').read_text()\n"
        f"assert 'share' in model.routes({TEXT!r}).save('b.rows').read_text()\n"
        "reading.save('a.cells')\n",
    )
    assert "a reading is saved as .html, .json, .nc or .rows; choose one" in done.stderr


SURVEY = ("survey", "corpus.txt", "--model", "model", "--max-length", "24", "--max-examples", "4")


@pytest.mark.slow
def test_a_study_writes_its_result_so_beside_its_report(place: Path) -> None:
    said = " ".join(headlight(place, "survey", "--help").split())
    assert "Writes report.html, result.nc, result.rows, CSV tables and config.yaml" in said
    headlight(place, *SURVEY, "--out", "run")
    assert "entropy\t" in (place / "run" / "result.rows").read_text(encoding="utf-8")
    written = {path.name for path in (place / "run").iterdir() if not path.name.startswith(".")}
    assert written == {"report.html", "result.nc", "result.rows", "tables", "config.yaml"}
    headlight(place, *SURVEY, "--out", "run", "--overwrite")  # it is the run's to replace
    assert "result.rows" in (place / "run" / ".headlight").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_file_of_others_in_its_place_is_refused_before_the_work(place: Path) -> None:
    (place / "taken").mkdir()
    (place / "taken" / "result.rows").write_text("mine")
    done = called(place, "-m", "headlight", *SURVEY, "--out", "taken", "--overwrite")
    assert "result.rows is in the way" in " ".join(done.stderr.split())
    assert not (place / "taken" / "result.nc").exists()
    assert (place / "taken" / "result.rows").read_text() == "mine"
