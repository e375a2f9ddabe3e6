"""BERTs that read one character or one atom at a time, of packages, for `real_models`.

Weights are pickles there, of which tensors alone are read; a tokenizer is made of the list of types
and, for reactions, of the pattern that the package splits them by, as it stands in its source.
"""

import ast
import json
import re
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

_SIZES = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_hidden_groups",
    "num_attention_heads",
    "intermediate_size",
    "inner_group_num",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "initializer_range",
    "num_labels",
)
"""Settings of a configuration that later versions still know."""

_LEFT_OUT = (
    "cls.seq_relationship.",
    "cls.species.",
    "cls.chain.",
    "cls.graft.",
    "bert.pooler.",
    "albert.pooler.",
    "bert.embeddings.position_ids",
)
"""What stands beside a model of masked pieces: heads of other tasks, and numbers of positions."""


def from_rxnmapper(unpacked: Path, out: Path) -> None:
    """Write the one ALBERT of reactions."""
    (config,) = unpacked.rglob("config.json")
    pattern = _pattern(unpacked / "rxnmapper" / "smiles_utils.py")
    _convert(config.parent, out, AlbertForMaskedLM, AlbertConfig)
    _write_tokenizer(config.parent / "vocab.txt", pattern, out)


def from_rxnfp(unpacked: Path, out: Path) -> None:
    """Write three BERTs of reactions: one pretrained, and two that were fine-tuned to classes."""
    pattern = _pattern(unpacked / "rxnfp" / "tokenization.py")
    classes = {
        "bert_pretrained": ("pretrained", BertForMaskedLM),
        "bert_ft": ("fine-tuned", BertModel),
        "bert_ft_10k_25s": ("classifier", BertForSequenceClassification),
    }
    for stored, (name, model) in classes.items():
        folder = unpacked / "rxnfp" / "models" / "transformers" / stored
        _convert(folder, out / name, model, BertConfig)
        _write_tokenizer(folder / "vocab.txt", pattern, out / name)


def from_antiberty(unpacked: Path, out: Path) -> None:
    """Write the one BERT of antibodies, which reads an amino acid at a time."""
    (config,) = unpacked.rglob("config.json")
    _convert(config.parent, out, BertForMaskedLM, BertConfig)
    _write_tokenizer(unpacked / "antiberty" / "trained_models" / "vocab.txt", "[A-Z]", out)


def _convert(
    folder: Path, out: Path, model: type[PreTrainedModel], config: type[BertConfig | AlbertConfig]
) -> None:
    """Write the weights of a folder as a model of transformers.

    Raises:
        SystemExit: they are those of another model.
    """
    stored = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    sizes = {name: stored[name] for name in _SIZES if name in stored}
    made = model(config(**sizes, pad_token_id=0))
    weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    missing, unexpected = made.load_state_dict(weights, strict=False)
    lacking = set(missing) - set(made._tied_weights_keys or ())
    if lacking or not all(each.startswith(_LEFT_OUT) for each in unexpected):
        raise SystemExit(f"{folder.name} holds another model: {missing} {unexpected}")
    made.save_pretrained(out)


def _pattern(source: Path) -> str:
    """Return the pattern of pieces of a reaction, which is assigned in a module that is not run."""
    assigned = re.search(r"^SMI_REGEX_PATTERN\s*=\s*(.+)$", source.read_text("utf-8"), re.MULTILINE)
    if assigned is None:
        raise SystemExit(f"{source.name} assigns no SMI_REGEX_PATTERN.")
    return str(ast.literal_eval(assigned[1]))


def _write_tokenizer(types: Path, pattern: str, out: Path) -> None:
    """Write a tokenizer whose pieces are what matches a pattern; all else is unknown."""
    names = types.read_text(encoding="utf-8").splitlines()
    vocabulary = {name: number for number, name in enumerate(names)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=512,
        **{f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "SEP", "PAD", "CLS", "MASK")},
    ).save_pretrained(out)
