"""Statistics and measures of another package, installed beside Headlight, reach plain commands."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import example_data
from extending.test_study_of_another_package import called, headlight
from headlight.result import load

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").partition("## A study")[0]
RUN = ("corpus.txt", "--model", "model", "--max-length", "24", "--no-passages")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of the guide beside what an installer writes of it."""
    folder = tmp_path_factory.mktemp("installed")
    code = re.findall(r"^```python\n(.*?)^```", GUIDE, re.M | re.S)[0]
    (folder / "rows.py").write_text(code, encoding="utf-8")
    declared = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", GUIDE, re.M | re.S)[0])
    about = folder / "rows-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rows\nVersion: 1.0\n")
    groups = declared["project"]["entry-points"]
    broken = {"headlight.statistics": {"broken": "rows:NOTHING"}}
    lines = []
    for group, entries in groups.items():
        every = {**entries, **broken.get(group, {})}
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in every.items())]
    (about / "entry_points.txt").write_text("\n".join([*lines, ""]))
    example_data.write(folder)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


@pytest.mark.slow
def test_they_are_surveyed_and_ranked_by_plain_commands(place: Path) -> None:
    done = called(place, "-m", "headlight", "survey", *RUN, "--measures", "weight,squared",
                  "--out", "run")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the statistic broken of the package rows cannot be loaded" in done.stderr
    result = load(place / "run" / "result.nc", stage="survey")
    assert {"second_next", "numerals"} <= set(result["behaviour"].values.tolist())
    assert "squared" in result["measure"].values
    shares = result["behaviour_share"].sel(measure="weight")
    ranked = json.loads(headlight(place, "heads", "run", "second_next", "--json"))
    assert ranked[0]["weight"] == pytest.approx(float(shares.sel(behaviour="second_next").max()))
    # Two places before: what the survey counts by itself, of the queries that have such a key.
    known = result["relative_share"].sel(measure="weight", relative=-2)
    rows = result["behaviour_rows"].sel(behaviour=["second_next", "missing"]).values
    assert rows[0] < rows[1]
    assert (shares.sel(behaviour="second_next") >= known - 1e-6).all()
    assert "second_next: to the token two places before" in headlight(place, "heads", "run")
    report = (place / "run" / "report.html").read_text(encoding="utf-8")
    assert "to the token two places before" in report


@pytest.mark.slow
def test_keys_are_those_that_the_row_chooses(place: Path) -> None:
    code = (
        "import headlight, numpy, json\n"
        "model = headlight.load('model')\n"
        "reading = model.read('the old mill keeps a town').dataset\n"
        "row = reading['head_number'].sel(statistic='second_next', measure='weight').values\n"
        "weight = reading['weight'].values\n"
        "print(json.dumps([row.tolist(), weight.diagonal(-2, 2, 3).mean(-1).tolist()]))\n"
    )
    done = called(place, "-W", "ignore", "-c", code)
    assert done.returncode == 0, done.stderr
    found, expected = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_allclose(found, expected, atol=1e-6)
