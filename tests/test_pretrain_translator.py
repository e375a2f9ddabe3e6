"""The training of the embedded translator: it runs, stops, and goes on; and how Muon steps."""

import importlib.util
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

SCRIPTS = Path(__file__).parents[1] / "scripts"
PAIRS = (
    ("The lighthouse stands on a rock.", "Der Leuchtturm steht auf einem Felsen."),
    ("Its lamp turns all night.", "Seine Lampe dreht sich die ganze Nacht."),
    ("A keeper lived there once.", "Ein Wärter lebte einst dort."),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A table and two files, as the script expects them."""
    rows = [
        (f"{number} {one}", f"{number} {other}") for number in range(400) for one, other in PAIRS
    ]
    (tmp_path / "tatoeba").mkdir()
    (tmp_path / "europarl2000").mkdir()
    files = {
        "tatoeba/deu-eng.tsv.xz": [f"{english}\t{german}" for english, german in rows],
        "europarl2000/europarl2000.de.xz": [german for _, german in rows],
        "europarl2000/europarl2000.en.xz": [english for english, _ in rows],
    }
    for name, lines in files.items():
        (tmp_path / name).write_bytes(lzma.compress("\n".join(lines).encode()))
    return tmp_path


def train(data: Path, out: Path, steps: int) -> list[dict[str, float]]:
    command = [
        sys.executable, str(SCRIPTS / "pretrain_translator.py"), str(data), "--out", str(out),
        "--steps", str(steps), "--vocabulary", "200", "--batch-tokens", "256", "--width", "16",
        "--inner", "16", "--save-every", "2", "--log-every", "1", "--precision", "no",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_training_goes_on_from_its_checkpoint_and_ends_with_a_model(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert [row["step"] for row in train(data, out, 2)] == [1, 2]
    rows = train(data, out, 4)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert rows[3]["tokens"] > rows[1]["tokens"]
    assert rows[3]["europarl_perplexity"] > 1
    assert (out / "model" / "model.safetensors").exists()
    assert not (out / "checkpoint.new").exists()


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_muon_steps_along_the_nearest_orthogonal_matrix(shape: tuple[int, int]) -> None:
    """By hand: of the gradient U S V', the step is near U V', times the rate and 0.2 sqrt(max)."""
    muon = script("muon")
    generator = torch.Generator().manual_seed(0)
    weights = [torch.nn.Parameter(torch.zeros(shape)) for _ in range(2)]
    for weight in weights:
        weight.grad = torch.randn(shape, generator=generator)
    muon.Muon(weights, lr=0.1, weight_decay=0.0, momentum=0.0).step()
    for weight in weights:
        assert weight.grad is not None
        left, _, right = np.linalg.svd(weight.grad.numpy(), full_matrices=False)
        wanted = -0.1 * 0.2 * max(shape) ** 0.5 * (left @ right)
        moved = weight.detach().numpy()
        cosine = (moved * wanted).sum() / np.linalg.norm(moved) / np.linalg.norm(wanted)
        assert cosine > 0.97
        assert 0.6 < np.linalg.norm(moved) / np.linalg.norm(wanted) < 1.3
