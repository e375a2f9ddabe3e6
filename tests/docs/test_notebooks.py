"""The notebooks run, and keep what they put out."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


@pytest.mark.long
@by_name
def test_it_runs(path: Path) -> None:
    pytest.importorskip("nbclient")
    if missing := SCRIPT["lacks"](path.stem):
        pytest.skip(f"{missing} is not there; see make models")
    SCRIPT["run"](path)


@by_name
def test_outputs_are_kept_and_name_no_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert len(outputs) >= 5
    assert all(output["output_type"] != "error" for output in outputs)
    said = json.dumps([each for each in outputs if "image/png" not in each.get("data", {})])
    assert not re.search(r"/(?:home|root|tmp|work|usr)/", said)
