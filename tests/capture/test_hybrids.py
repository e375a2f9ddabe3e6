"""Layers of hybrids: those that attend are counted from 0, and the model's own number is shown."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import headlight
from architectures import HYBRID, LINEAR, WIDE
from headlight.capture import CapturedModel
from headlight.errors import UsageError
from headlight.reading import read
from headlight.result import load
from studies.models import model, saved, texts, tokenizer
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


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    subject, out = hybrid(), tmp_path_factory.mktemp("models") / "hybrid"
    subject.transformer.save_pretrained(out)
    subject.tokenizer.save_pretrained(out)
    return out


def layers_of_reading(headlight: Any, model: str, layers: str, out: Path) -> list[list[int]]:
    code, *_ = headlight("read", "the sea", "-m", model, "--layers", layers, "--out", str(out))
    assert code == 0
    found = load(out)
    numbers = [found["layer"]] + ([found["model_layer"]] if "model_layer" in found else [])
    return [each.values.tolist() for each in numbers]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_layers_are_chosen_by_either_number(headlight: Any, folder: Path, tmp_path: Path) -> None:
    out, name = tmp_path / "reading.nc", str(folder)
    assert layers_of_reading(headlight, name, "1", out) == [[1], [7]]
    assert layers_of_reading(headlight, name, "model:7", out) == [[1], [7]]
    assert layers_of_reading(headlight, name, "model:3,L7", out) == [[0, 1], [3, 7]]
    corpus, run = tmp_path / "texts.txt", tmp_path / "run"
    corpus.write_text("\n".join(texts(2)), encoding="utf-8")
    code, *_ = headlight(
        "survey", str(corpus), "--model", name, "--layers", "model:7", "--out", str(run)
    )
    assert code == 0
    assert load(run / "result.nc")["layer"].values.tolist() == [1]
    assert yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["layers"] == [1]


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        ("model:2", "no decoder attention that is read; those that have are 3, 7 of the model"),
        ("model:3-5", "error: layer 4 of"),
        ("model:", "'' is not a number"),
        ("model:L3H1", "head 1 of layer 3"),
        ("model:9", "no layer 9"),
        ("models:3", "is not a number"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_layers_that_do_not_attend_are_refused(
    headlight: Any, folder: Path, layers: str, sentence: str
) -> None:
    code, _, complaints = headlight("read", "the sea", "-m", str(folder), "--layers", layers)
    assert code != 0
    assert sentence in " ".join(complaints.split())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_where_both_agree_the_prefix_changes_nothing(headlight: Any, tmp_path: Path) -> None:
    plain = saved("bert", tmp_path / "bert")
    found = layers_of_reading(headlight, str(plain), "model:1", tmp_path / "reading.nc")
    assert found == [[1]]
