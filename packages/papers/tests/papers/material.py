"""A tiny model with its head, and small data of our own in the formats that are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
import xarray

from studies.command import done

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the a cat dog bird sees saw it she old small tree by in . ,".split()  # noqa: SIM905

PAIRS = 24

# Word, universal part of speech, governor, relation.
TREES = [
    [("the", "DET", 2, "det"), ("cat", "NOUN", 3, "nsubj"), ("sees", "VERB", 0, "root"),
     ("a", "DET", 6, "det"), ("small", "ADJ", 6, "amod"), ("dog", "NOUN", 3, "obj"),
     (".", "PUNCT", 3, "punct")],
    [("she", "PRON", 2, "nsubj"), ("saw", "VERB", 0, "root"), ("the", "DET", 5, "det"),
     ("old", "ADJ", 5, "amod"), ("bird", "NOUN", 2, "obj"), ("by", "ADP", 8, "case"),
     ("a", "DET", 8, "det"), ("tree", "NOUN", 2, "obl"), (".", "PUNCT", 2, "punct")],
    [("it", "PRON", 2, "nsubj"), ("sees", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")],
]  # fmt: skip


def folder_of_data(folder: Path) -> Path:
    """Text, a treebank, coreference, word vectors and sentence pairs, named as `--data` wants."""
    _write(folder / "text" / "text.txt", "\n\n".join([_paragraphs()] * 6))
    _write(folder / "ud_ours" / "ours-train.conllu", conllu(TREES * 6))
    _write(folder / "ud_ours" / "ours-dev.conllu", conllu(TREES * 8))
    _write(folder / "our_coref" / "one.conll", conll2012())
    vectors = "\n".join(f"{word} {place}.0 1.0" for place, word in enumerate(WORDS))
    _write(folder / "glove" / "vectors.txt", vectors + "\n")
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = (f"1\t{n}\t{n}\t{_sentence(n)}\t{_sentence(n + 1)}\n" for n in range(PAIRS))
    _write(folder / "our_mrpc" / "dev.txt", header + "".join(rows))
    rows = (f"ours\t1\t\t{_sentence(n)}\n" for n in range(PAIRS))
    _write(folder / "our_cola" / "dev.tsv", "".join(rows))
    return folder


def reproduced(paper: str, *arguments: object) -> None:
    """Run the command to its end, as a user would."""
    done("reproduce", paper, *arguments)


def saved_model(folder: Path, *, head: bool = True, positions: int = 64) -> Path:
    """A BERT with random weights, with or without its language-model head."""
    folder.mkdir()
    _write(folder / "vocab.txt", "\n".join([*SPECIAL, *WORDS]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=positions,
    )
    kind = transformers.BertForMaskedLM if head else transformers.BertModel
    kind(config).save_pretrained(folder)
    return folder


def conllu(trees: list[list[tuple[str, str, int, str]]]) -> str:
    """Sentences in ten columns."""
    blocks = [
        "\n".join(
            f"{number}\t{word}\t{word}\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
            for number, (word, tag, head, relation) in enumerate(tree, start=1)
        )
        for tree in trees
    ]
    return "\n\n".join(blocks) + "\n\n"


def conll2012() -> str:
    """Two documents in which the cat is seen, and it sees."""
    words = ["the", "cat", "saw", "a", "dog", ".", "it", "sees", "the", "dog", "."]
    chains = {0: "(1", 1: "1)", 3: "(2", 4: "2)", 6: "(1)", 8: "(2", 9: "2)"}
    lines = []
    for document in ("a", "b"):
        lines.append(f"#begin document ({document}); part 000")
        for number, word in enumerate(words):
            columns = [document, "0", str(number), word, *["_"] * 8, chains.get(number, "_")]
            lines.append("\t".join(columns))
        lines += ["", "#end document"]
    return "\n".join(lines) + "\n"


def _sentence(number: int) -> str:
    """One of many sentences, the same for the same number."""
    subject, other = (WORDS[2 + (number // step) % 4] for step in (1, 4))
    verb, adjective = WORDS[6 + number % 2], WORDS[10 + number // 2 % 2]
    return f"the {subject} {verb} a {adjective} {other} ."


def _paragraphs() -> str:
    return "the cat sees a small dog . she saw it , by the tree .\nthe old bird saw it . it sees ."


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def ended(name: str, dims: Sequence[str], values: Any, half: float) -> dict[str, Any]:
    """Return variables of a number and the ends of its interval, as results without blocks have."""
    every = np.asarray(values, dtype=np.float64)
    offsets = {"": 0.0, "_low": -half, "_high": half}
    return {f"{name}{end}": (tuple(dims), every + off) for end, off in offsets.items()}


def separators(share: Any, half: float) -> xarray.Dataset:
    """Return the part of a survey that says what goes to [SEP], ``[measure, layer, head]``."""
    dims = ("query_category", "key_category", "measure", "layer", "head")
    return xarray.Dataset(
        ended("share", dims, np.asarray(share)[None, None], half),
        {
            "query_category": ["all"],
            "key_category": ["sep"],
            "measure": ["weight", "effective"],
        },
        {"examples": 100},
    )
