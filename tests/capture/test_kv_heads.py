"""The head of keys and values that each head uses, as a coordinate of results."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from torch import nn

import headlight
from headlight.capture import CapturedModel
from headlight.reading import read
from headlight.result import load
from headlight.result.kinds import concat_kinds, split_kinds
from studies.models import model, texts


def unevenly_grouped() -> CapturedModel:
    """Four heads on two in the first layer, two heads on two in the second."""
    made = model("llama")
    attention: Any = made.transformer.layers[1].self_attn
    attention.num_key_value_groups = 1
    attention.q_proj, attention.o_proj = nn.Linear(32, 16).eval(), nn.Linear(16, 32).eval()
    return made


UNEVEN = [[0, 0, 1, 1], [0, 1, np.nan, np.nan]]


@pytest.mark.parametrize(
    ("subject", "expected"), [(model("llama"), UNEVEN[0]), (unevenly_grouped(), UNEVEN)]
)
def test_results_have_the_number(subject: CapturedModel, expected: Any, tmp_path: Path) -> None:
    survey = headlight.survey(texts(2), model=subject, out=tmp_path, progress=False)
    for result in (survey, load(tmp_path / "result.nc"), read(subject, "the sea").dataset):
        np.testing.assert_array_equal(result["kv_head"].transpose(..., "head"), expected)
    part = read(subject, "the sea", layers=[0], heads=[1, 3]).dataset
    assert part["kv_head"].values.tolist() == [0, 1]
    tables = [pandas.read_csv(path) for path in tmp_path.rglob("*.csv")]
    rows = next(table for table in tables if "kv_head" in table).query("layer == 0")
    assert (rows["kv_head"] == rows["head"] // 2).all()


def test_each_kind_keeps_its_own_and_without_groups_there_is_none() -> None:
    subjects = {"decoder": model("llama"), "cross": model("llama", num_key_value_heads=1)}
    parts = {kind: read(made, "the sea").dataset for kind, made in subjects.items()}
    for kind, part in split_kinds(concat_kinds(parts)).items():
        assert part["kv_head"].identical(parts[kind]["kv_head"])
    assert "kv_head" not in read(model("bert"), "the sea").dataset.coords
