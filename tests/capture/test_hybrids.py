"""Layers of hybrids: those that attend are counted from 0, and the model's own number is shown."""

from pathlib import Path
from typing import Any

import pytest

import headlight
from architectures import HYBRID, LINEAR, WIDE
from headlight.capture import CapturedModel
from headlight.errors import UsageError
from headlight.reading import read
from headlight.result import load
from studies.models import model, texts, tokenizer
from tiny_models import build


def hybrid(layers: int = 8) -> CapturedModel:
    """Every fourth layer attends, as in Qwen 3.5."""
    every: Any = ["linear_attention"] * 3 + ["full_attention"]
    settings = {
        **HYBRID,
        **LINEAR,
        "num_hidden_layers": layers,
        "layer_types": every * (layers // 4),
    }
    return CapturedModel(build("qwen3_5_text", settings, seed=1), tokenizer("llama"), "hybrid")


@pytest.mark.filterwarnings("ignore")
def test_both_numbers_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = hybrid()
    assert subject.own_numbers("decoder") == {0: 3, 1: 7}
    with pytest.raises(UsageError, match=r"no decoder layer 3: .* 0 to 1 \(of the model: 3, 7\)"):
        subject.sites_of("decoder", [3])
    for result in (
        headlight.survey(texts(2), model=subject, out=tmp_path / "run", progress=False),
        load(tmp_path / "run" / "result.nc"),
        read(subject, "the sea").dataset,
    ):
        assert result["model_layer"].dims == ("layer",)
        assert result["model_layer"].values.tolist() == [3, 7]
    part = headlight.survey(texts(2), model=subject, layers=[1], progress=False)
    assert part["model_layer"].values.tolist() == [7]


@pytest.mark.parametrize("family", ["bert", "llama", "bart", "t5"])
def test_where_both_agree_nothing_is_added(family: str) -> None:
    subject = model(family)
    assert all(subject.own_numbers(kind) == {} for kind in subject.kinds)


@pytest.mark.parametrize("name", ["albert", "mobilebert"])
def test_a_module_that_runs_again_has_no_number_of_its_own(name: str) -> None:
    subject = CapturedModel(build(name, {**WIDE, "embedding_size": 16}, seed=1))
    assert subject.own_numbers("encoder") == {}
