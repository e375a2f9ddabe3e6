"""Tiny random models with tokenizers of our own, and the texts that they read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from architectures import BART, GROUPED, T5, WIDE
from headlight.capture import CapturedModel
from headlight.corpora import Document
from tiny_models import build

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
TEXT = """
the a sea river lake valley bridge town mill snow sand stone mud water week spring
is was has keeps carries falls melts widens slows builds knows old full down near
"""
WORDS = TEXT.split()
VOCABULARY = [*SPECIAL, ".", ",", "'", "-", "(", *WORDS]

SETTINGS = {
    "bert": WIDE,
    "roberta": WIDE,
    "llama": {**GROUPED, "attention_bias": True},
    "bart": BART,
    "t5": T5,
}
TEMPLATES = {
    "bert": ("<s> $A </s>", "<s> $A </s> $B:1 </s>:1"),
    "roberta": ("<s> $A </s>", "<s> $A </s> $B </s>"),
    "llama": ("<s> $A", "<s> $A $B"),
    "bart": ("<s> $A </s>", "<s> $A </s> $B </s>"),
    "t5": ("$A </s>", "$A </s> $B </s>"),
}


def tokenizer(family: str) -> PreTrainedTokenizerFast:
    """Whole words and punctuation, and the special tokens that the family puts around a text."""
    inner = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>")
    )
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    single, pair = TEMPLATES[family]
    inner.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    around = {"cls_token": "<s>", "sep_token": "</s>"} if family in ("bert", "roberta") else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        unk_token="<unk>", **around,
    )  # fmt: skip


def transformer(family: str, **settings: object) -> PreTrainedModel:
    """Two layers, width 32, four heads; the same at every call."""
    return build(family, {**SETTINGS[family], **settings}, seed=7)


def model(family: str, **settings: object) -> CapturedModel:
    """The same with its tokenizer."""
    return CapturedModel(transformer(family, **settings), tokenizer(family), family, "1")


subject = model


def attending_to_itself(layer: int = 1, head: int = 2) -> CapturedModel:
    """A BERT of which one head looks from every token at itself, so that there is one to name."""
    made = model("bert")
    attention = made.transformer.encoder.layer[layer].attention.self
    size = attention.attention_head_size
    rows = slice(head * size, (head + 1) * size)
    for linear in (attention.query, attention.key):
        linear.weight.data[rows] = 30 * attention.value.weight.data[rows]
        linear.bias.data[rows] = 0
    return made


def uneven() -> CapturedModel:
    """A BERT whose second layer has two heads of twice the size instead of four."""
    made = model("bert")
    attention = made.transformer.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 2, 16
    attention.scaling = 16**-0.5
    return replace(made, name="uneven")


def saved(family: str, folder: Path, **settings: object) -> Path:
    """Such a model in a folder, as a user has one."""
    made = subject(family, **settings)
    made.transformer.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder


def sentence(generator: np.random.Generator, words: int) -> str:
    marks = [" ", " ", " ", ", ", " ' ", " - "]
    return "".join(
        str(generator.choice(WORDS)) + str(generator.choice(marks)) for _ in range(words)
    ) + str(generator.choice([*WORDS, "."]))


def texts(number: int, longest: int = 20, seed: int = 0) -> list[str]:
    """Texts of very different lengths, some without any full stop or comma."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest + 1, size=number)
    return [sentence(generator, int(length)) for length in lengths]


def documents(number: int, paragraphs: int = 3, longest: int = 7, seed: int = 0) -> list[Document]:
    """Documents of several paragraphs, from which pairs can be made."""
    generator = np.random.default_rng(seed)
    return [
        Document(
            f"document {index}",
            tuple(
                sentence(generator, int(generator.integers(2, longest))) for _ in range(paragraphs)
            ),
        )
        for index in range(number)
    ]
