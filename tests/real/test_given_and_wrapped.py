"""Weights that MiniLM itself returns, and MiniLM as a part of another module."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models
TEXT = "The old bridge over the river was closed in the spring."


class Inner(nn.Module):
    """BERT as a part of a module of one's own."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: Tensor, padding_mask: Tensor | None = None) -> Any:
        return self.bert(input_ids=ids, attention_mask=padding_mask)


def test_they_give_what_the_model_gives() -> None:
    folder = Path(str(MODELS)) / "minilm"
    model = headlight.load(folder)
    tokenizer: Any = model.tokenizer
    bert = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoded = tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        alpha = bert(**encoded, output_attentions=True).attentions
    reading = model.read(TEXT)
    given = headlight.view(alpha, tokenizer.convert_ids_to_tokens(encoded["input_ids"][0]))
    np.testing.assert_allclose(given.weight, reading.weight, atol=1e-6)
    for name in ("query_token", "key_token", "key_category"):
        assert given.dataset[name].values.tolist() == reading.dataset[name].values.tolist()
    wrapped = headlight.wrap(Inner(bert).eval(), tokenizer)
    assert wrapped.longest == model.longest
    for name in ("weight", "norm", "effective", "merged_norm"):
        np.testing.assert_allclose(wrapped.read(TEXT)[name], reading[name], atol=1e-6)
    texts = [TEXT, "The bridge was old.", TEXT[:30]] * 4
    one, other = (headlight.survey(texts, model=it, progress=False) for it in (wrapped, model))
    np.testing.assert_allclose(one["share"], other["share"], atol=1e-6)
