"""Folders and objects that hold a model in another way: what is said of each, and where it is."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from torch import nn

from headlight.capture import load_model
from headlight.catalogue.model_checks import check_model, check_place
from headlight.errors import HeadlightError, ModelError, UsageError
from studies.models import transformer

LAYOUTS: dict[str, tuple[dict[str, str], str]] = {
    "an adapter": (
        {
            "adapter_config.json": '{"peft_type": "LORA", "base_model_name_or_path": "org/base"}',
            "adapter_model.safetensors": "",
        },
        "holds an adapter (LORA) of org/base, and not that model; merge it (merge_and_unload",
    ),
    "virtual tokens": (
        {
            "adapter_config.json": '{"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 3, '
            '"base_model_name_or_path": "org/base"}',
        },
        "its 3 virtual tokens stand before every text, and are not captured; org/base can be read, "
        "without it.",
    ),
    "an adapter that is never merged": (
        {"adapter_config.json": '{"peft_type": "POLY"}'},
        "PEFT cannot merge it, and what it adds while the model runs is not captured; that model",
    ),
    "an adapter whose configuration is damaged": (
        {"adapter_config.json": "["},
        "holds an adapter of another model",
    ),
    "a sentence transformer": (
        {
            "modules.json": "[]",
            "0_Transformer/config.json": '{"model_type": "bert"}',
            "1_Pooling/config.json": '{"word_embedding_dimension": 32}',
        },
        "holds no config.json; the model lies in {}/0_Transformer.",
    ),
    "a folder of the cache": (
        {"snapshots/abc/config.json": "{}", "refs/main": "abc"},
        "give the name 'org/name', or {}/snapshots/abc.",
    ),
    "ONNX": ({"config.json": "{}", "model.onnx": ""}, "in the format of ONNX alone; give"),
    "ONNX in a folder of its own": ({"onnx/model.onnx": ""}, "in the format of ONNX alone"),
    "TensorFlow": ({"config.json": "{}", "tf_model.h5": ""}, "in the format of TensorFlow alone"),
    "a state of training": (
        {
            "config.json": "{}",
            "optimizer.pt": "",
            "training_args.bin": "",
            "trainer_state.json": "",
        },
        "holds the state of a training run (its optimizer, say), and no weights; save the model",
    ),
    "a run with checkpoints": (
        {"trainer_state.json": "{}", "checkpoint-5/config.json": "{}"},
        "and no weights; give {}/checkpoint-5.",
    ),
    "a folder of GGUF folders": (
        {"Q4/config.json": "{}", "Q8/config.json": "{}"},
        "there are models in {}/Q4, {}/Q8; give one of them.",
    ),
    "nothing": (
        {"notes.txt": ""},
        "holds no config.json; give the folder of a transformers model.",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_says_what_it_holds(layout: str, tmp_path: Path) -> None:
    files, expected = LAYOUTS[layout]
    folder = tmp_path / "models--org--name"
    for number, (name, content) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        os.utime(path.parent, (number, number))
    for refusing in (check_place, load_model):
        with pytest.raises(ModelError) as refused:
            refusing(str(folder))
        assert expected.replace("{}", str(folder)) in str(refused.value)
        assert str(refused.value).startswith(str(folder))


def test_weights_beside_other_formats_are_loaded(tmp_path: Path) -> None:
    transformer("bert").save_pretrained(tmp_path)
    for name in ("model.onnx", "tf_model.h5", "optimizer.pt", "trainer_state.json"):
        (tmp_path / name).touch()
    assert load_model(tmp_path).transformer.config.model_type == "bert"


class Holder(nn.Module):
    """Keeps a model under a name, as wrappers for training do."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)


class Adapted(Holder):
    def merge_and_unload(self) -> nn.Module:
        raise NotImplementedError


class Pipeline:
    """No module, but it has one."""

    def __init__(self, model: Any) -> None:
        self.tokenizer, self.model = None, model


class Prompted(Holder):
    """As PEFT holds a model with virtual tokens before it."""

    adapter: ClassVar[dict[str, object]] = {"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 3}

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.peft_config = {"default": SimpleNamespace(**self.adapter)}


class Routed(Prompted):
    """As PEFT holds a model whose layers it has changed for good."""

    adapter: ClassVar[dict[str, object]] = {"peft_type": "POLY"}


OBJECTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sentence transformer": (
        lambda model: nn.Sequential(Holder(auto_model=model), nn.Identity()),
        "model[0].auto_model",
    ),
    "module for training": (lambda model: Holder(net=model), "model.net"),
    "deeper": (lambda model: Holder(inner=Holder(backbone=model)), "model.inner.backbone"),
    "in copies": (lambda model: nn.DataParallel(Holder(net=model)), "model.module.net"),
    "adapter": (lambda model: Adapted(base=model), "merge_and_unload returns"),
    "virtual tokens": (
        lambda model: Prompted(base_model=model),
        "its 3 virtual tokens stand before every text, and are not captured; model.base_model can "
        "be read, without it.",
    ),
    "trainer of virtual tokens": (
        lambda model: Pipeline(Prompted(base_model=model)),
        "are not captured; model.model.base_model can be read, without it.",
    ),
    "never merged": (lambda model: Routed(base_model=model), "its base, loaded again, can be read"),
    "pipeline": (Pipeline, "model.model"),
    "trainer of a wrapper": (lambda model: Pipeline(Holder(net=model)), "model.model.net"),
    "nothing": (lambda _: nn.Linear(2, 2), "give one that is, or any module"),
    "number": (lambda _: 3, "or a model of transformers."),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_says_where_its_model_is(name: str) -> None:
    wrap, expected = OBJECTS[name]
    with pytest.raises(UsageError) as refused:
        load_model(wrap(transformer("bert")))
    assert expected in str(refused.value)
    assert str(refused.value).endswith(".")


def test_one_sentence_for_each(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps(["no", "mapping"]), encoding="utf-8")
    with pytest.raises(HeadlightError, match="holds an adapter of another model"):
        check_place(str(tmp_path))


VISION = {"model_type": "clip_vision_model", "num_hidden_layers": 3, "num_attention_heads": 4}


@pytest.mark.parametrize(
    ("config", "known"),
    [
        ({"num_hidden_layers": 3, "n_head": 4}, True),
        ({"vision_config": VISION, "text_config": {**VISION, "model_type": "llama"}}, True),
        # Whose layers and heads are those of its type, which is not written out.
        ({"vision_config": VISION, "text_config": {"model_type": "llama"}}, False),
        ({"num_attention_heads": [4, 8]}, False),
    ],
)
def test_layers_and_heads_are_refused_where_all_parts_say_theirs(
    config: dict[str, Any], known: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    check_model(str(tmp_path), layers=[2], heads=[0, 3])
    for chosen in ({"layers": [3]}, {"heads": [4]}):
        if known:
            with pytest.raises(UsageError, match=r"(has no layer 3|have no head 4)"):
                check_model(str(tmp_path), **chosen)
        else:
            check_model(str(tmp_path), **chosen)
