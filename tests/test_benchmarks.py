"""Benchmarks that are run where there is what they need are tried where there is not."""

import json
from pathlib import Path

import pytest
from benchmarks import device, pretrained
from benchmarks.timing import show


@pytest.mark.slow
def test_the_benchmark_of_a_gpu_runs_on_small_shapes_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = device.main(1, tiny=True, device="cpu")
    per_model = len(device.TYPES) * len(device.TINY_LENGTHS) * (2 + len(device.SURVEYS)) + 2
    assert len(rows) == 1 + len(device.TINY) * per_model + 2
    assert all(len(row) == 4 and row[1] for row in rows)
    assert not [row for row in rows if row[1].endswith("Error")]
    assert {row[1] for row in rows if "waits" in row[0]} == {"none"}
    show(rows, tmp_path / "new" / "rows.json")
    assert json.loads((tmp_path / "new" / "rows.json").read_text()) == [[*row] for row in rows]
    assert "| card | the CPU |  |" in capsys.readouterr().out


def test_without_a_gpu_nothing_is_said_to_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.torch.cuda, "is_available", lambda: False)
    assert device.main() == [("a survey on a GPU", "not measured", "", "no card is here")]


def test_a_batch_is_compared_with_its_own_pass() -> None:
    costs = pretrained.Costs(forward=[1.0, 2.0, 4.0], more=[1.5, 2.2, 4.8])
    assert costs.ratio == pytest.approx(1.2)
