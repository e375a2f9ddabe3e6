"""The command `predict`: its tables, its files, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from headlight.result import load
from studies.command import Command

TEXT = "The cat sat on the [MASK]."


@pytest.mark.slow
def test_it_shows_parts_that_add_up_and_writes_them(headlight: Command, tmp_path: Path) -> None:
    paths = [tmp_path / f"found.{suffix}" for suffix in ("json", "nc", "html")]
    code, said, _ = headlight(
        "predict", TEXT, "--target", "floor", "--against", "chair", "--json", str(paths[0]),
        "--out", str(paths[1]), "--html", str(paths[2]), "--top", "3",
    )  # fmt: skip
    assert code == 0
    found = json.loads(paths[0].read_text())
    assert load(paths[1], stage="prediction")["logit"] == found["logit"]
    assert re.search("“floor” rather than “chair” .*rests on", said)
    assert "instead" in said
    sums = re.findall(r"^sum .*?([+−][\d.]+)", said, flags=re.MULTILINE)
    assert sums[:2] == [f"{found['logit']:+.3f}".replace("-", "−")] * 2
    assert "50 others" in said


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("The cat sat on the mat.", ("--model", "headlight-small"), "write [MASK]"),
        (TEXT, ("--position", "40"), "no position 40"),
        (TEXT, ("--json", "found.txt"), ".json"),
        (TEXT, ("--slope", "steep"), "steep"),
    ],
)
def test_refusals(headlight: Command, text: str, options: tuple[str, ...], words: str) -> None:
    code, _, complained = headlight("predict", text, *options)
    assert code != 0
    assert words in re.sub(r"\s+", " ", complained)
