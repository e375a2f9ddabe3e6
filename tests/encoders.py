"""Tiny random encoders of several families, each with a tokenizer of its family."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertTokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

from architectures import WIDE
from headlight.capture import CapturedModel
from tiny_models import build
from translators import BEGIN, LETTERS, WHOLE


@dataclass(frozen=True)
class EncoderFamily:
    """A family of encoders.

    Attributes:
        model_type: of the configuration.
        tokenizer: makes its tokenizer.
        settings: of the configuration.
    """

    model_type: str
    tokenizer: Callable[[], Any]
    settings: dict[str, Any]

    def model(self, layers: int = 2) -> CapturedModel:
        """The same at every call."""
        tokenizer = self.tokenizer()
        sizes = {"vocab_size": len(tokenizer), "num_hidden_layers": layers}
        settings = {**self.settings, **sizes, "pad_token_id": tokenizer.pad_token_id}
        return CapturedModel(build(self.model_type, settings, seed=5), tokenizer, self.model_type)

    def saved(self, folder: Path) -> Path:
        """Such a model in a folder, as a user has one."""
        made = self.model()
        made.transformer.save_pretrained(folder)
        made.tokenizer.save_pretrained(folder)
        return folder


def _bert() -> Any:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, "the", "das", "hou", ".", *LETTERS, *(f"##{each}" for each in LETTERS)]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})


def _xlm_roberta() -> Any:
    vocabulary = [(piece, 0.0) for piece in BEGIN]
    vocabulary += [(piece, -1.0) for piece in WHOLE] + [(piece, -9.0) for piece in LETTERS]
    return XLMRobertaTokenizer(vocab=[*vocabulary, ("<mask>", 0.0)])


def _roberta() -> Any:
    merges = [("t", "h"), ("th", "e"), ("Ġ", "h")]
    pieces = [*BEGIN, "Ġ", ".", *LETTERS, *map("".join, merges), "<mask>"]
    return RobertaTokenizer(
        vocab={piece: number for number, piece in enumerate(pieces)}, merges=merges
    )


def _modernbert() -> Any:
    """Byte pairs, with the special tokens of BERT around a text."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    inner = Tokenizer(models.BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


ENCODERS = {
    "bert": EncoderFamily("bert", _bert, WIDE),
    "xlm-roberta": EncoderFamily("xlm-roberta", _xlm_roberta, WIDE),
    "roberta": EncoderFamily("roberta", _roberta, WIDE),
    "modernbert": EncoderFamily("modernbert", _modernbert, {**WIDE, "local_attention": 4}),
    "albert": EncoderFamily("albert", _bert, {**WIDE, "embedding_size": 16}),
    "deberta-v2": EncoderFamily("deberta-v2", _xlm_roberta, {**WIDE, "relative_attention": True}),
}
