"""The command `explain`: its tables, its files, and what it refuses."""

from pathlib import Path

import pytest

from headlight.result import load
from studies.models import saved

TEXT = "the river is old , the mill near it fell"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("llama", tmp_path_factory.mktemp("models") / "llama")


@pytest.mark.slow
def test_it_shows_both_sides_and_writes_them(headlight, llama, tmp_path):
    told, numbers, page = (tmp_path / f"why.{suffix}" for suffix in ("json", "nc", "html"))
    code, said, _ = headlight(
        "explain", TEXT, "--model", str(llama), "--layer", "1", "--head", "2", "--query", "9",
        "--key", "5", "--top", "3", "--json", str(told), "--out", str(numbers), "--html", str(page),
    )  # fmt: skip
    assert code == 0
    said = " ".join(said.split())
    score = f"{float(load(numbers, stage='explanation')['score']):+.2f}".replace("-", "\u2212")
    assert f"in a sum of {score}, " in said
    assert "What was written for the key" in said
    assert "What was written for the query" in said
    assert said.count(" others ") == 2
    assert told.exists()
    assert "What was written for the key" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--layer", "9"), "layer 9"),
        (("--head", "9"), "have no head 9: their heads are 0 to 3"),
        (("--query", "99"), "there is no query 99"),
        (("--json", "x.nc"), "must end in .json"),
    ],
)
def test_mistakes_are_refused(headlight, llama, arguments, sentence):
    code, _, complaints = headlight("explain", TEXT, "--model", str(llama), *arguments)
    assert code != 0
    assert sentence in " ".join(complaints.split())
