"""Small tokenizers of the usual kinds, made here or trained on a few sentences of ours."""

import copy
from typing import Any

import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SENTENCES = [
    "The river carries sand, stones and mud down to the sea.",
    "A lake keeps what it is given, until it is full.",
    "Where the valley widens, the water slows and lets the sand fall.",
    "People have built mills, bridges and towns beside the river.",
    "In spring the snow melts, and the valley is flooded for a week.",
    "Nobody knows how old the bridge is. It was there before the town.",
]


WORDS = ["the", "sea", "is", "and", "sand", "river"]


def wordpiece():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*special, *".,'-", *letters, *(f"##{letter}" for letter in letters), *WORDS]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    names = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    named = {f"{name}_token": special[index] for name, index in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def byte_level(template, **special):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<s>", "<pad>", "</s>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = template
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def roberta():
    template = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return byte_level(
        template, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        pad_token="<pad>",
    )  # fmt: skip


def gpt2():
    end = "<|endoftext|>"
    return byte_level(processors.ByteLevel(trim_offsets=False), bos_token=end, eos_token=end)


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


KINDS = {"bert": wordpiece, "roberta": roberta, "gpt2": gpt2, "t5": unigram}


@pytest.fixture(scope="session")
def tokenizers():
    return {name: make() for name, make in KINDS.items()}


@pytest.fixture(scope="session", params=KINDS)
def tokenizer(request, tokenizers):
    """Each kind in turn."""
    return tokenizers[request.param]


@pytest.fixture
def fresh_bert():
    """One that a test may change."""
    return wordpiece()


@pytest.fixture(scope="session")
def bert(tokenizers):
    return tokenizers["bert"]


@pytest.fixture(scope="session")
def sentences():
    return SENTENCES


def chat_tokenizer(template: str) -> PreTrainedTokenizerFast:
    """Return the small tokenizer of a decoder with a template of chats."""
    made = copy.deepcopy(KINDS["gpt2"]())
    made.chat_template = template
    return made


def decoder(tokenizer: PreTrainedTokenizerFast, **settings: Any) -> LlamaForCausalLM:
    """Return a decoder of two layers of two heads with random weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, **settings,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()
