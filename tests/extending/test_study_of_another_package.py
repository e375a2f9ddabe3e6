"""The study in docs/extending.md, installed as another package, is a study like all others."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import example_data
from forked import Anew
from headlight.capture import load_model
from headlight.corpora import open_corpus
from headlight.encode import texts
from headlight.encode.batch import collate
from headlight.result import load

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").partition("## A study")[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package beside what an installer writes of it, a corpus and a model."""
    folder = tmp_path_factory.mktemp("installed")
    for path, code in re.findall(r"^```python\n# (\S+)\n(.*?)^```", GUIDE, re.M | re.S):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")
    declared = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", GUIDE, re.M | re.S)[0])
    install(folder, "diagonal", declared["project"]["entry-points"]["headlight.studies"])
    example_data.write(folder)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


def install(folder: Path, package: str, studies: dict[str, str]) -> None:
    """Write what an installer writes of a package with studies."""
    there = folder / f"{package}-1.0.dist-info"
    there.mkdir()
    (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in studies.items()]
    (there / "entry_points.txt").write_text("\n".join(["[headlight.studies]", *lines, ""]))


def called(
    place: Path, *arguments: str, popen: type[subprocess.Popen] = Anew
) -> subprocess.CompletedProcess[str]:
    """Return what a process of its own says, for which the package is installed."""
    path = os.pathsep.join([str(place), *filter(None, sys.path)])
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "100"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with popen(command, cwd=place, env=environment, text=True, **pipes) as process:
        said, complained = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


def headlight(place: Path, *arguments: str) -> str:
    done = called(place, "-m", "headlight", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


RUN = ("diagonal", "corpus.txt", "--model", "model", "--max-length", "24")


@pytest.mark.slow
def test_it_is_a_function_with_its_settings(place: Path) -> None:
    done = called(place, "-c", "import headlight, inspect\n"
        "assert 'diagonal' in headlight.__all__ and 'diagonal' in dir(headlight)\n"
        "assert inspect.signature(headlight.diagonal).parameters['offset'].default == 0\n"
        "assert 'offset: look at the key' in headlight.diagonal.__doc__\n"
        "found = headlight.diagonal('corpus.txt', model='model', offset=-1, progress=False)\n"
        "assert found.weight.dims == ('layer', 'head')\n"
        "assert found.headlight.table().shape == (4, 3)\n"
        "headlight.diagonal('corpus.txt', ofset=1)",
        popen=subprocess.Popen)  # fmt: skip
    assert "Did you mean 'offset'?" in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.slow
def test_help_lists_it_with_what_reads_text(place: Path) -> None:
    everything, own = headlight(place, "--help"), headlight(place, "diagonal", "--help")
    corpus = everything.partition("Study a corpus")[2].partition("Study annotated text")[0]
    assert "diagonal" in corpus
    assert "--offset" in own
    assert "the token before" in own
    assert "Clark et al. 2019, Section 3.1" in own


@pytest.mark.slow
def test_it_leaves_a_report_of_right_numbers_and_goes_on(place: Path) -> None:
    said = headlight(place, *RUN, "--out", "out", "--json")
    report = (place / "out" / "report.html").read_text(encoding="utf-8")
    assert "The diagonal" in report
    assert (place / "out" / "tables" / "heads.csv").exists()
    found = load(place / "out" / "result.nc", stage="diagonal")
    np.testing.assert_allclose(found["weight"], definition(place), atol=1e-6)
    assert json.loads(said)["summary"] == {"largest": pytest.approx(float(found["weight"].max()))}
    again = called(place, "-m", "headlight", *RUN, "--out", "out")
    assert "holds a run already" in again.stderr
    headlight(place, *RUN, "--out", "out", "--resume")
    repeated = ("diagonal", "--config", "out/config.yaml", "--out", "repeated")
    headlight(place, *repeated)
    assert load(place / "repeated" / "result.nc").equals(found)


def definition(place: Path) -> np.ndarray:
    """Text by text, with the weights that transformers gives out."""
    model = load_model(place / "model")
    documents = open_corpus(str(place / "corpus.txt"))
    means = []
    for example in texts(documents, model.tokenizer, max_length=24):
        batch = collate([example], pad_id=0, side="right")
        model.transformer.set_attn_implementation("eager")
        out = model.transformer(input_ids=batch.input_ids, output_attentions=True)
        rows = [layer[0].diagonal(0, 1, 2).mean(-1) for layer in out.attentions]
        means.append([row.detach().numpy() for row in rows])
    return np.mean(means, axis=0)


@pytest.mark.slow
def test_workers_share_it(place: Path) -> None:
    headlight(place, *RUN, "--out", "alone")
    headlight(place, *RUN, "--out", "shared", "--workers", "2")
    alone, shared = (load(place / name / "result.nc") for name in ("alone", "shared"))
    assert shared.equals(alone)


@pytest.mark.slow
def test_a_package_that_cannot_be_loaded_breaks_no_other_command(
    place: Path, tmp_path: Path
) -> None:
    install(tmp_path, "damaged", {"damaged": "no_such_module:STUDY", "distances": "json:dumps"})
    done = called(tmp_path, "-m", "headlight", "damaged", "corpus.txt", "--offset", "1")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the study damaged of the package damaged cannot be loaded" in done.stderr
    everything = headlight(tmp_path, "--help")
    assert "Cannot be loaded" in everything
    out = str(tmp_path / "out")
    arguments = (
        "distances",
        str(place / "corpus.txt"),
        "--model",
        str(place / "model"),
        "--out",
        out,
    )
    done = called(tmp_path, "-m", "headlight", *arguments)
    assert done.returncode == 0
    assert "note: the study distances of the package damaged is left out" in done.stderr
