"""Tiny random translators of five families, each with the tokenizer of its family.

Their pieces are letters, and a few that hold several.  Special tokens stand where the family puts
them: a language code before the text (NLLB, which is an M2M-100) or after it (mBART), a beginning
and an end (BART), or an end alone (Marian, T5); each decoder begins with a token of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModelForSeq2SeqLM,
    MBartTokenizer,
    NllbTokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    T5Tokenizer,
)

from architectures import BART, T5
from headlight.capture import CapturedModel
from tiny_models import build

SOURCE = "das alte haus ist klein ."
TARGET = "the house , so small"
"""Of different length in words and in pieces; a comma on one side, a period on the other."""

BEGIN = ["<s>", "<pad>", "</s>", "<unk>"]
WHOLE = ["▁the", "▁das", "▁", "hou", "au", "."]
LETTERS = [*ascii_lowercase, ",", ":"]


@dataclass(frozen=True)
class Family:
    """A family of translators.

    Attributes:
        model_type: of the configuration.
        tokenizer: makes its tokenizer.
        start: with which its decoder begins.
        source: special tokens before and after the source.
        target: the same of what the decoder is given: the labels, moved by one place.
        settings: of the configuration, besides those that all have.
    """

    model_type: str
    tokenizer: Callable[[], Any]
    start: str
    source: tuple[list[str], list[str]]
    target: tuple[list[str], list[str]]
    settings: dict[str, Any] = field(default_factory=lambda: BART)

    def model(self, *, head: bool = False, **changed: Any) -> CapturedModel:
        """Two layers on each side, four heads, width 32; the same at every call.

        Args:
            head: whether it has a language-model head, which predicts with the table of embeddings.
            changed: settings of the configuration.
        """
        tokenizer = self.tokenizer()
        tokens = {"pad": "<pad>", "eos": "</s>", "decoder_start": self.start}
        ids = {
            f"{name}_token_id": tokenizer.convert_tokens_to_ids(token)
            for name, token in tokens.items()
        }
        settings = {**self.settings, "vocab_size": len(tokenizer), **ids, **changed}
        transformer = build(self.model_type, settings, seed=11)
        if head:
            whole = AutoModelForSeq2SeqLM.from_config(transformer.config).eval()
            whole.base_model.load_state_dict(transformer.state_dict(), strict=False)
            transformer = whole
        return CapturedModel(transformer, tokenizer, self.model_type, "1")

    def saved(self, folder: Path, **changed: Any) -> Path:
        """Such a model in a folder, as a user has one."""
        made = self.model(**changed)
        made.transformer.save_pretrained(folder)
        made.tokenizer.save_pretrained(folder)
        return folder


def _unigrams(*special: str) -> list[tuple[str, float]]:
    return [
        *((piece, 0.0) for piece in special),
        *((piece, -1.0) for piece in WHOLE),
        *((letter, -9.0) for letter in LETTERS),
    ]


def _marian() -> Any:
    inner = Tokenizer(models.Unigram(_unigrams("</s>", "<unk>", "<pad>"), unk_id=1))
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )


def _t5() -> Any:
    return T5Tokenizer(vocab=_unigrams("<pad>", "</s>", "<unk>"), extra_ids=0)


def _mbart() -> Any:
    return MBartTokenizer(vocab=_unigrams(*BEGIN), src_lang="de_DE", tgt_lang="en_XX")


def _vocabulary(pieces: list[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate([*BEGIN, *pieces])}


def _nllb() -> Any:
    merges = [("▁", "d"), ("▁d", "a"), ("▁da", "s"), ("o", "u")]
    pieces = ["▁", ".", *LETTERS, *map("".join, merges)]
    return NllbTokenizer(
        vocab=_vocabulary(pieces),
        merges=merges,
        additional_special_tokens=["deu_Latn", "eng_Latn"],
        src_lang="deu_Latn",
        tgt_lang="eng_Latn",
    )


def _bart() -> Any:
    merges = [("t", "h"), ("th", "e"), ("Ġ", "h")]
    pieces = ["Ġ", ".", *LETTERS, *map("".join, merges)]
    return RobertaTokenizer(vocab=_vocabulary(pieces), merges=merges)


FAMILIES = {
    "marian": Family("marian", _marian, "<pad>", ([], ["</s>"]), (["<pad>"], [])),
    "t5": Family("t5", _t5, "<pad>", ([], ["</s>"]), (["<pad>"], []), T5),
    "bart": Family("bart", _bart, "</s>", (["<s>"], ["</s>"]), (["</s>", "<s>"], [])),
    "m2m_100": Family(
        "m2m_100",
        _nllb,
        "</s>",
        (["deu_Latn"], ["</s>"]),
        (["</s>", "eng_Latn"], []),
        {**BART, "decoder_attention_heads": 2},
    ),
    "mbart": Family("mbart", _mbart, "en_XX", ([], ["</s>", "de_DE"]), (["en_XX"], ["</s>"])),
}
