"""Every study on models of other precisions than float32, encoders and decoders."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from transformers import LlamaForSequenceClassification

from headlight.capture import CapturedModel
from headlight.catalogue import studies
from headlight.engine.folder import RunFolder
from headlight.errors import UsageError
from headlight.settings import choices
from headlight.vocabulary import MEASURES
from open_folders import opening
from studies.classifiers import NAMES
from studies.models import tokenizer
from studies.test_gradient import with_head
from studies.victims import VICTIMS, translations
from tiny_models import randomise

HEADS = 8
"""Of four components, so that texts have more than three times as many tokens."""
TEXTS = {"parser_probes": 30, "flow": 2, "instance_adversary": 2, "permutation": 2}
KEPT = ("survey", "distances", "importance", "alignment")
CASES = [
    pytest.param(name, kind, marks=() if name in KEPT else pytest.mark.long)
    for name, victim in VICTIMS.items()
    for kind in ("encoder", "decoder")
    if (kind == "encoder" or not victim.translates) and (kind == "decoder" or not victim.decodes)
]
UNSTEADY = {"instance_adversary": ("exact_jsd", "points"), "flow": ("agreement",)}
"""A search among weights finds others in another precision, and ranks change places."""


def subject(name: str, kind: str, dtype: torch.dtype) -> CapturedModel:
    """The model that the study is tried on, with narrow heads; as a decoder a Llama."""
    victim = VICTIMS[name]
    made = victim.model if kind == "encoder" else with_head("llama")
    config = copy.deepcopy(made.transformer.config)
    for heads in ("num_attention_heads", "num_key_value_heads", "decoder_attention_heads"):
        if hasattr(config, heads):
            setattr(config, heads, HEADS)
    if kind == "decoder":
        config.update({"head_dim": config.hidden_size // HEADS, "max_position_embeddings": 256})
    architecture: Any = type(made.transformer)
    if kind == "decoder" and victim.classifies:
        architecture = LlamaForSequenceClassification
        config.update(NAMES)
    network = architecture(config).eval()
    randomise(network, torch.Generator().manual_seed(3))
    texts = tokenizer("llama") if kind == "decoder" else made.tokenizer
    return CapturedModel(network.to(dtype), texts, made.name, "1")


def measured(name: str, kind: str, dtype: torch.dtype, folder: Path) -> xarray.Dataset:
    """The result of a study by every measure, method and map that needs nothing beside the text."""
    victim, study = VICTIMS[name], studies()[name]
    hints = study.settings.hints()
    widest = {each: choices(hints[each]) for each in ("methods", "measures") if each in hints}
    if "measures" in widest:
        of_study = widest["measures"] or MEASURES
        widest["measures"] = tuple(each for each in MEASURES if each in of_study)
    settings = study.settings.from_mapping({**study.smallest, **victim.changed, **widest})
    folder.mkdir()
    if victim.translates:
        gold = folder / "gold.talp"
        gold.write_text("".join(f"{links}\n" for _, links in translations(4)))
        settings = settings.replace(gold=str(gold))
    options: dict[str, Any] = victim.options if kind == "encoder" else {}
    network, source = subject(name, kind, dtype), victim.source()[: TEXTS.get(name, 4)]
    run = {"folder": RunFolder(path=folder / "run"), "progress": False, **options}
    return opening(study.run)(source, network, settings, **run)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_in_float64_numbers_are_those_of_float32(name: str, kind: str, tmp_path: Path) -> None:
    wanted = measured(name, kind, torch.float32, tmp_path / "single")
    result = measured(name, kind, torch.float64, tmp_path / "double")
    for variable in {*wanted.data_vars} - {"seconds"}:
        if wanted[variable].dtype.kind == "f" and variable not in UNSTEADY.get(name, ()):
            numbers, single = result[variable].values, wanted[variable].values
            np.testing.assert_allclose(numbers, single, rtol=0.01, atol=1e-4, err_msg=variable)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_in_bfloat16_too_unless_it_is_said_to_be_too_coarse(
    name: str, kind: str, tmp_path: Path
) -> None:
    try:
        measured(name, kind, torch.bfloat16, tmp_path / "half")
    except UsageError as refused:
        assert "too coarse" in str(refused)  # noqa: PT017 - most studies run
