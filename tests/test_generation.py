"""Tokens that a decoder puts out, each read as it is made, against readings of the whole text."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from architectures import GPT2, GROUPED, WIDE
from headlight.capture import CapturedModel
from headlight.encode import encode_one
from headlight.errors import MissingHeadError, UsageError
from headlight.reading.generation import generate
from headlight.reading.model import Model
from headlight.reading.reading import read_example
from studies.models import VOCABULARY, model, tokenizer
from tiny_models import build

DECODERS = {
    "llama": {**GROUPED, "attention_bias": True},
    "gpt2": GPT2,
    "gemma2": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "gpt_neox": WIDE,
}


def decoder(family: str) -> CapturedModel:
    """A tiny one with its head."""
    from transformers import AutoModelForCausalLM

    settings = {**DECODERS[family], "vocab_size": len(VOCABULARY)}
    bare = build(family, settings, seed=7)
    torch.manual_seed(5)
    network = AutoModelForCausalLM.from_config(bare.config).eval()
    return Model(network, tokenizer("llama"), family, "1")


@pytest.mark.parametrize("family", list(DECODERS))
def test_each_reading_is_the_row_of_the_whole_text(family: str) -> None:
    made: Any = decoder(family)
    text = "the river keeps a bridge near"
    found = list(made.generate(text, tokens=5))
    assert len(found) == 5 or found[-1].id == made.tokenizer.eos_token_id
    example = encode_one(made.tokenizer, text)
    start = len(example.ids)
    ids = (*example.ids, *(each.id for each in found[:-1]))
    more = len(ids) - start
    whole = replace(
        example,
        ids=ids,
        segments=(0,) * len(ids),
        categories=(*example.categories, *(3,) * more),
        words=(*example.words, *range(6, 6 + more)),
    )
    said = {"text": "", "pair": "", "command": "", "other_kinds": ""}
    reading = read_example(made, whole, attributes=said).dataset
    with torch.no_grad():
        logits = made.transformer(torch.tensor([ids])).logits[0]
    for at, each in enumerate(found, start - 1):
        part = each.reading.dataset
        assert part["query"].values.tolist() == [at]
        assert part["query_token"].values[0] == made.tokenizer.convert_ids_to_tokens(ids[at])
        assert part.sizes["key"] == at + 1
        assert each.id == int(logits[at].argmax())
        assert each.probability == pytest.approx(float(logits[at].softmax(-1).max()), abs=1e-6)
        for name in ("weight", "norm", "merged_norm", "entropy"):
            row = reading[name].sel(query=[at])
            row = row.isel(key=slice(at + 1)) if "key" in row.dims else row
            np.testing.assert_allclose(part[name], row, rtol=1e-4, atol=2e-6, err_msg=name)
        assert not {"effective", "rank"} & {*part}, "rounding decides what is the same"
        for name in ("vector_norm", "input_norm"):
            row = reading[name].isel(key=slice(at + 1))
            np.testing.assert_allclose(part[name], row, rtol=1e-4, atol=2e-6, err_msg=name)


def test_a_token_costs_one_row_and_not_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the text all tokens are given to the model once, and then one at a time."""
    made: Any = decoder("llama")
    given: list[int] = []
    made.transformer.register_forward_pre_hook(
        lambda _, __, options: given.append(options["input_ids"].shape[1]), with_kwargs=True
    )
    made.sites  # noqa: B018 - traced before
    given.clear()
    list(made.generate("the river keeps", tokens=4, layers=[1], heads=[0, 2]))
    assert given == [4, 1, 1, 1]


def test_what_cannot_go_on_is_refused() -> None:
    with pytest.raises(MissingHeadError, match="does not go on with a text"):
        generate(model("bert"), "the river")
    with pytest.raises(UsageError, match="tokens is 0"):
        generate(decoder("llama"), "the river", tokens=0)
    with pytest.raises(UsageError, match="no decoder layer 7"):
        list(generate(decoder("llama"), "the river", layers=[7]))
