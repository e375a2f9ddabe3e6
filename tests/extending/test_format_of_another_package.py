"""The format in docs/extending.md, installed as another package, is read like all others."""

from pathlib import Path

import pytest

import example_data
from extending.guide import install
from extending.test_study_of_another_package import called, headlight
from headlight.result import load

RUN = ("--model", "model", "--no-passages")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package beside what an installer writes of it, two corpora and a model."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "dashes", "A format", also={"lines2": "dashes:DASHES"})
    (folder / "notes.txt").write_text(
        "the old mill\nkeeps a town\n---\nthe cat sees the dog\n---\n"
    )
    (folder / "same.txt").write_text("the old mill\nkeeps a town\n\nthe cat sees the dog\n")
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


@pytest.mark.slow
def test_it_is_surveyed_by_its_name(place: Path) -> None:
    done = called(
        place,
        *("-m", "headlight", "survey", "notes.txt", "--format", "dashes", "--out", "named", *RUN),
    )
    assert done.returncode == 0, done.stderr
    assert "the format lines2 of the package dashes is no format of that name" in done.stderr
    headlight(place, "survey", "same.txt", "--format", "paragraphs", "--out", "same", *RUN)
    named, same = (load(place / name / "result.nc") for name in ("named", "same"))
    assert named["relative_share"].equals(same["relative_share"])
    assert named.attrs["examples"] == 2


@pytest.mark.slow
def test_it_is_read_in_python_and_another_name_is_refused(place: Path) -> None:
    done = called(
        place,
        "-W",
        "ignore",
        "-c",
        "from headlight.corpora import open_corpus\n"
        "found = open_corpus('notes.txt', format='dashes')\n"
        "assert [each.paragraphs for each in found] == [\n"
        "    ('the old mill', 'keeps a town'), ('the cat sees the dog',)]\n"
        "open_corpus('notes.txt', format='dashs')\n",
    )
    assert "Did you mean 'dashes'?" in done.stderr.splitlines()[-1], done.stderr
