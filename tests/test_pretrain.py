"""The training of the embedded model: it runs, stops, and goes on where it stopped."""

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
SENTENCES = (
    "The lighthouse stands on a rock, and its lamp turns all night. ",
    "Ships from the south pass it before dawn, when the tide is high. ",
    "A keeper lived there once, with a dog and two hundred books. ",
)
WORDS = sum(len(sentence.split()) for sentence in SENTENCES)


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    folder = tmp_path / "articles"
    folder.mkdir()
    paragraph = "".join(SENTENCES) * 12
    for name in ("AB_wiki_01.txt.xz", "AA_wiki_00.txt.xz"):  # the second is kept out of training
        body = f'<doc id="1" url="u" title="Light">\nLight\n\n{paragraph}\n\n{paragraph}\n</doc>\n'
        (folder / name).write_bytes(lzma.compress(body.encode() * 4))
    return folder


def train(articles: Path, out: Path, steps: int) -> list[dict[str, float]]:
    command = [
        sys.executable, str(SCRIPTS / "pretrain.py"), str(articles), "--out", str(out),
        "--steps", str(steps), "--vocabulary", "120", "--batch-tokens", "256",
        "--save-every", "2", "--log-every", "1", "--short-steps", "3", "--precision", "no",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_training_goes_on_from_its_checkpoint_and_ends_with_a_model(
    articles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert [row["step"] for row in train(articles, out, 2)] == [1, 2]
    rows = train(articles, out, 4)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert rows[3]["tokens"] > rows[1]["tokens"]
    assert json.loads((out / "words.json").read_text())["words"] == 2 * 4 * 12 * WORDS
    assert (out / "model" / "model.safetensors").stat().st_size < 16e6
    assert not (out / "checkpoint.new").exists()
