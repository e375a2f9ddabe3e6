"""Small classifiers with sharp attention, and labelled texts for them."""

import re
from typing import Any

import torch
from transformers import (
    BartForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    T5ForSequenceClassification,
)

from headlight.capture import CapturedModel
from studies.models import model, texts, tokenizer
from tiny_models import randomise

NAMES = {"id2label": {0: "bad", 1: "good"}, "label2id": {"bad": 0, "good": 1}}


def classifier(tokens: bool = False) -> CapturedModel:
    """A BERT of two layers and four heads with sharp attention, and two classes."""
    config = BertConfig(**{**model("bert").transformer.config.to_dict(), **NAMES})
    kind = BertForTokenClassification if tokens else BertForSequenceClassification
    network = kind(config).eval()
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(3))
    return CapturedModel(network, tokenizer("bert"), "classifier", "1")


def labelled(count: int) -> list[tuple[str, str]]:
    return [(text, ("bad", "good")[at % 3 > 0]) for at, text in enumerate(texts(count, longest=9))]


def tagged(count: int) -> list[tuple[list[str], list[str]]]:
    found = []
    for text in texts(count, longest=9):
        words = re.findall(r"\w+", text)
        found.append((words, [("bad", "good")[len(word) % 2] for word in words]))
    return found


def sequence_classifier(family: str) -> CapturedModel:
    """A BART or T5 of two layers on each side, whose head asks at the end of the text."""
    given = model(family).transformer.config.to_dict()
    ids = {"eos_token_id": 2, "pad_token_id": 0, "decoder_start_token_id": 0}
    kind = BartForSequenceClassification if family == "bart" else T5ForSequenceClassification
    config: Any = kind.config_class(**{**given, **ids, **NAMES})
    network: Any = kind(config).eval()
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(3))
    return CapturedModel(network, tokenizer(family), f"{family}-classifier", "1")
