"""Token ids read in the place of a text, against the same text and the model called with them."""

from typing import Any

import numpy as np
import pytest
import torch

from architectures import GPT2
from headlight.errors import UsageError
from headlight.reading.model import Model
from studies.models import VOCABULARY, model, tokenizer
from tiny_models import build

TEXT = "the sea is old , the river , the lake ."


def made(family: str) -> Model:
    if family != "gpt2":
        captured = model(family)
        return Model(captured.transformer.double(), captured.tokenizer, family, "1")
    network = build("gpt2", {**GPT2, "vocab_size": len(VOCABULARY)}, seed=7).double()
    return Model(network, tokenizer("llama"), family, "1")


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert", "bart", "t5"])
def test_ids_of_a_text_are_read_as_the_text(family: str) -> None:
    subject = made(family)
    ids = subject.tokenizer(TEXT)["input_ids"]  # type: ignore[misc]
    text, given = subject.read(TEXT).dataset, subject.read(ids=ids).dataset
    assert given.equals(text)
    assert given.attrs["text"] == subject.tokenizer.decode(ids)  # type: ignore[union-attr]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_positions_are_those_given_and_padding_does_not_appear(family: str) -> None:
    subject = made(family)
    ids = torch.tensor([0, 0, 0, *subject.tokenizer(TEXT)["input_ids"]])  # type: ignore[misc]
    mask, positions = (ids != 0).long(), torch.arange(len(ids)) + 2
    positions[8:] += 3
    data = subject.read(ids=ids, prompt=9, attention_mask=mask, position_ids=positions).dataset
    network: Any = subject.transformer
    network.set_attn_implementation("eager")
    first = 0 if family == "gpt2" else 3  # eager Llama in float64 makes NaN of padding on the left
    with torch.no_grad():
        attentions = network(
            input_ids=ids[None, first:],
            attention_mask=mask[None, first:],
            position_ids=positions[None, first:],
            output_attentions=True,
        ).attentions
    eager = torch.stack(attentions)[:, 0, :, 3 - first :, 3 - first :]
    np.testing.assert_allclose(data["weight"], eager, atol=1e-6)
    assert [*data["key_segment"].values] == ["prompt"] * 6 + ["answer"] * (len(ids) - 9)
    assert abs(data["weight"] - subject.read(ids=ids[3:]).dataset["weight"]).max() > 1e-3
    subject.read(ids=[9] * 60, position_ids=[*range(2, 62)], attribution=True, residual=True)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"ids": []}, "ids must be a list of whole numbers"),
    ({"ids": [1], "text": "the sea"}, "token ids are read alone"),
    ({"text": "the sea", "prompt": 1}, "ids must be a list of whole numbers, .* None is not"),
    ({"ids": [1, -2]}, "none below 0"),
    ({"ids": [1, 4000]}, "the id 4000 is not in the vocabulary, which ends at"),
    ({"ids": [1, 2], "prompt": 3}, "prompt is 3, and must be a number from 1 to 2, as ids 0 to 1"),
    ({"ids": [1, 2], "prompt": "a"}, "prompt is 'a', and must be a number"),
    ({"ids": [1, 2], "attention_mask": [1]}, "attention_mask must be a list of 2"),
    ({"ids": [1, 2, 3], "attention_mask": [1, 0, 1]}, "leave ids in between out"),
    ({"ids": [1, 2], "attention_mask": [0, 0]}, "must be 1 for ids"),
    ({"ids": [1, 2], "position_ids": [1]}, "position_ids must be a list of 2"),
    ({"ids": [1], "position_ids": [64]}, "positions 0 to 63, and not 64"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_read_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made("llama").read(**arguments)
    with pytest.raises(UsageError, match="takes no position_ids"):
        made("t5").read(ids=[4, 5], position_ids=[0, 1])
