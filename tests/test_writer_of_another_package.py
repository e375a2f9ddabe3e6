"""The format of answers in docs/extending.md, installed as another package, is written like all."""

from pathlib import Path

import pytest

import example_data
from guide import install
from headlight.catalogue.questions import QUESTIONS
from headlight.reading.alternatives import Alternatives
from headlight.reading.explanation import Explanation
from headlight.reading.flow import Flow
from headlight.reading.generation import Generation
from headlight.reading.patching import Patching
from headlight.reading.prediction import Prediction
from headlight.reading.reading import Reading
from headlight.reading.routes import Routes
from headlight.reading.sources import Sources
from test_study_of_another_package import called, headlight

TEXT = "the old mill keeps a town"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package beside what an installer writes of it, and a model."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "cells", "A format of answers", also={"json": "cells:ROWS"})
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


def test_an_answer_has_the_formats_that_its_command_takes() -> None:
    """What is looked at before the work is what is written after it."""
    answers = (
        *(Alternatives, Explanation, Flow, Generation, Patching, Prediction, Reading, Routes),
        Sources,
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
