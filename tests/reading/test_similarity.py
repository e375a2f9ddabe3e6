"""Similarity of two texts: parts of cosines, against models that run again without a token."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text
from headlight.capture.sentence_embedding import Pooling
from headlight.corpora import SentencePair
from headlight.errors import ModelError, UnsupportedModelError, UsageError
from headlight.reading.similarity import SIDES, similarity
from headlight.views.reading.similarity import findings, frame_of, headline
from reading.replay import Replay
from reading.test_prediction import close
from studies.command import Command
from studies.models import model as tiny

A, B = "the old river keeps a town .", "snow melts in spring , sea falls"
DIM = 32
RULES: dict[str, list[dict[str, Any]]] = {
    "mean": [],
    "cls_token": [{"type": "sentence_transformers.models.Normalize"}],
    "lasttoken": [],
    "weightedmean_tokens": [
        {"type": "sentence_transformers.models.Normalize"},
        {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
    ],
    "mean_sqrt_len_tokens": [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}],
}
"""Rules of pooling, and the modules behind it; the first is assumed, and the folder has none."""
SUBJECTS = [("bert", rule) for rule in RULES] + [("llama", "lasttoken"), ("llama", "mean")]


def sentence_encoder(folder: Path, family: str, rule: str, **config: Any) -> CapturedModel:
    """Return a model of random weights whose folder says how texts are embedded."""
    made = tiny(family)
    made.transformer.double()
    made.name = str(folder)
    if rule == "mean":
        return made
    modules = [
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
        *RULES[rule],
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    for name in ("1_Pooling", "2_Dense"):
        (folder / name).mkdir()
    flags = {f"pooling_mode_{name}": name == rule for name in (*RULES, "max_tokens")} | config
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    activation = {"activation_function": "torch.nn.modules.activation.Tanh"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(activation))
    numbers = torch.Generator().manual_seed(3)
    weights = {"linear.weight": torch.randn(8, DIM, generator=numbers),
               "linear.bias": torch.randn(8, generator=numbers)}  # fmt: skip
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return made


def naive(folder: Path, rule: str, states: torch.Tensor, frozen: Any = None) -> tuple[Any, Any]:
    """Return the embedding of hidden tokens by loops, and what stays constant without a token."""
    length, total = len(states), torch.zeros(DIM, dtype=torch.float64)
    for at in range(length):
        total += states[at] * {
            "mean": 1 / length, "mean_sqrt_len_tokens": length**-0.5, "cls_token": at == 0,
            "lasttoken": at == length - 1,
            "weightedmean_tokens": (at + 1) / sum(range(1, length + 1)),
        }[rule]  # fmt: skip
    constants = []
    for module in RULES[rule]:
        known = frozen[len(constants)] if frozen else None
        if module["type"].endswith("Normalize"):
            constants.append(total.square().sum().sqrt() if known is None else known)
            total = total / constants[-1]
            continue
        from safetensors.torch import load_file

        dense = load_file(folder / "2_Dense" / "model.safetensors")
        total = dense["linear.weight"].double() @ total + dense["linear.bias"].double()
        constants.append(total.tanh() / total if known is None else known)
        total = total * constants[-1]
    return total, constants


@pytest.mark.parametrize(("family", "rule"), SUBJECTS)
def test_a_pair_adds_what_the_dot_product_of_what_is_lost_without_each_says(
    family: str, rule: str, tmp_path: Path
) -> None:
    made = sentence_encoder(tmp_path, family, rule)
    data = similarity(made, A, B).dataset
    parts, wholes, biases = [], [], []
    for text in (A, B):
        _, example = one_text(made, text, None, None, purpose="a test")
        again = Replay(made, made.inputs(made.collate([example])), lambda output: output[0].sum())
        with torch.no_grad():
            states = made.transformer(**made.inputs(made.collate([example])))[0][0]
        whole, constants = naive(tmp_path, rule, states)
        lost = []
        for at in range(len(example.ids)):
            less = again.output_without(embedding=(0, at))[0][0]
            lost.append(whole - naive(tmp_path, rule, less, constants)[0])
        parts.append(torch.stack(lost))
        wholes.append(whole)
        biases.append(whole - sum(lost))
    scale = float(wholes[0].norm() * wholes[1].norm())
    close(float(data["cosine"]), float(wholes[0] @ wholes[1]) / scale)
    for i, of_a in enumerate(parts[0]):
        close(float(data["a_bias"][i]), float(of_a @ biases[1]) / scale)
        for j, of_b in enumerate(parts[1]):
            close(float(data["pair_part"][i, j]), float(of_a @ of_b) / scale)
    whole = sum(float(data[name].sum()) for name in ("pair_part", "a_bias", "b_bias", "bias"))
    assert whole == pytest.approx(float(data["cosine"]), abs=1e-9)
    if not RULES[rule] or "Dense" not in RULES[rule][-1]["type"]:
        close(data["norm"].values[0] if not RULES[rule] else 1.0, float(wholes[0].norm()))
    assert float(abs(data["pair_part"]).max()) > 1e-3
    assert data.attrs["assumed"] == (rule == "mean")
