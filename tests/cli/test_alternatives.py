"""The command `alternatives`: its table, its sentence, its file, and what it refuses."""

from pathlib import Path

import pytest

from headlight.result import load
from studies.models import saved

LONG = "the town was old , the mill has sand and the river falls near a bridge of stone ."


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("bert", tmp_path_factory.mktemp("models") / "bert")


@pytest.mark.slow
def test_it_shows_what_it_found_and_writes_it(headlight, bert, tmp_path):
    path = tmp_path / "found.nc"
    code, said, _ = headlight(
        "alternatives", LONG, "--layer", "1", "--head", "2", "--number", "2", "--model", str(bert),
        "--out", str(path), "--queries", "0,5", "--top", "9",
    )  # fmt: skip
    assert code == 0
    dataset = load(path, stage="alternatives")
    assert dataset.sizes["alternative"] == 2
    assert "All 2 rows of encoder head L1H2 have other attention" in said
    for query in (0, 5):
        moved = dataset["total_variation"].sel(query=query).values
        assert ", ".join(f"{value:.3f}" for value in moved) in said


def test_a_short_text_has_none(headlight, bert):
    code, said, _ = headlight("alternatives", "the old mill .", "--model", str(bert), "--top", "9")
    assert code == 0
    assert "No other attention of encoder head L0H0" in said
    assert "none" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", "7"), "no layer 7: its layers are 0 to 1"),
        (("--queries", "0,x"), "write something like 0,3-5"),
        (("--queries", "99"), "there is no query 99"),
        (("--distance", "0"), "--distance must be above 0"),
    ],
)
def test_what_it_refuses(headlight, bert, options, message):
    code, _, complained = headlight("alternatives", LONG, "--model", str(bert), *options)
    assert code == 2
    assert message in complained


def test_help_shows_examples(headlight):
    code, said, _ = headlight("alternatives", "--help")
    assert code == 0
    assert said.count("headlight alternatives") > 1
