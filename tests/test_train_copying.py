"""The small decoder of the guide to comparisons: what it reads, and what is kept of it."""

import subprocess
import sys
from pathlib import Path

import pytest

import headlight

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "train_copying.py"


@pytest.mark.slow
def test_every_step_that_is_kept_is_a_model_that_reads_its_texts(tmp_path: Path) -> None:
    options = ["--out", tmp_path, "--steps", "2", "--keep-every", "1", "--batch", "2"]
    subprocess.run([sys.executable, SCRIPT, *map(str, options)], check=True, capture_output=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0", "1", "2", "texts.txt"]
    texts = (tmp_path / "texts.txt").read_text(encoding="utf-8").splitlines()
    assert len(set(texts)) == len(texts) == 100
    for text in texts:
        words = text.split()
        assert words[: len(words) // 2] == words[len(words) // 2 :]
    first, last = (headlight.load(tmp_path / step) for step in "02")
    tokens = first.read(texts[0]).tokens
    assert list(tokens) == ["<s>", *texts[0].split()]
    one, other = (dict(model.transformer.named_parameters()) for model in (first, last))
    assert any(not value.equal(other[name]) for name, value in one.items())
