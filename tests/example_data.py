"""Files of the names that the examples of the documentation read, small enough to run them."""

import gzip
from pathlib import Path

import numpy as np
import torch
import transformers

WORDS = {
    "DET": ("the", "a"),
    "NOUN": ("cat", "dog", "mill", "river", "town", "stone", "bridge", "song"),
    "VERB": ("sees", "finds", "likes", "hears"),
    "ADJ": ("old", "small", "quiet"),
}
TRANSLATIONS = (
    ("das alte haus ist klein .", "the old house is small .", "1-1 2-2 3-3 4-4 5-5 6-6"),
    ("der hund sieht das haus", "the dog sees the house", "1-1 2-2 3-3 4-4 5-5"),
    ("eine katze", "a small cat", "1-1 2-3 1p2"),
    ("ein lied ist alt", "old is a song", "1-3 2-4 3-2 4-1"),
)
"""A sentence, its translation, and links from 1, those with a p only possible."""
TREE = (
    ("DET", 3, "det"),
    ("ADJ", 3, "amod"),
    ("NOUN", 4, "nsubj"),
    ("VERB", 0, "root"),
    ("DET", 6, "det"),
    ("NOUN", 4, "obj"),
    ("PUNCT", 4, "punct"),
)
"""Part of speech, head from 1, relation."""
SOURCES = {
    "text": "corpus.txt",
    "haystack": "corpus.txt",
    "treebank": "en_ewt-ud-dev.conllu",
    "coreference": "litbank",
    "parallel": "test.de-en",
    "labelled": "reviews.tsv",
    "text_or_labelled": "corpus.txt",
}
"""Of what `write` makes, the file or folder for a study, by what it reads."""


def write(folder: Path) -> None:
    """Corpora, treebanks, documents with coreference, and pairs."""
    chosen = np.random.default_rng(0)
    sentences = [sentence(chosen) for _ in range(40)]
    texts = [" ".join(words) for words in sentences]
    text = "\n\n".join("\n".join(texts[at : at + 4]) for at in range(0, 40, 4))
    (folder / "wiki").mkdir()
    for name in ("corpus.txt", "wiki/pages.txt"):
        (folder / name).write_text(text, encoding="utf-8")
    with gzip.open(folder / "texts.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    (folder / "en_ewt-ud-dev.conllu").write_text(treebank(sentences[:15]), encoding="utf-8")
    (folder / "en_ewt-ud-train.conllu").write_text(treebank(sentences[15:]), encoding="utf-8")
    (folder / "litbank").mkdir()
    (folder / "litbank" / "text.conll").write_text(document(), encoding="utf-8")
    pairs = zip(texts[::2], texts[1::2], strict=True)
    rows = [f"1\t{at}\t{at}\t{one}\t{two}" for at, (one, two) in enumerate(pairs)]
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    (folder / "msr_paraphrase_test.txt").write_text("\n".join([header, *rows]), encoding="utf-8")
    pairs_and_links(folder)
    moods = ("positive", "negative")
    rows = [f"{moods[at % 3 > 0]}\t{text}" for at, text in enumerate(texts[:12])]
    (folder / "reviews.tsv").write_text("\n".join(["label\ttext", *rows]), encoding="utf-8")
    (folder / "chunks.txt").write_text(tagged(sentences[:6]), encoding="utf-8")
    (folder / "wiki-first").mkdir()
    (folder / "wiki-first" / "config.yaml").write_text("source: wiki/\n", encoding="utf-8")


def pairs_and_links(folder: Path) -> None:
    """The same translations in all forms of the examples, and their links."""
    sources, targets, links = zip(*TRANSLATIONS, strict=True)
    rows = list(zip(sources, targets, strict=True))
    files = {
        "test.de": sources,
        "test.en": targets,
        "gold.talp": links,
        "test.de-en": [" ||| ".join(row) for row in rows],
        "corpus.de-en": [" ||| ".join(row) for row in rows],
        "pairs.txt": [" ||| ".join(row) for row in rows],
        "pairs.tsv": ["\t".join(row) for row in rows],
        "corpus.tsv": ["german\tenglish", *["\t".join(row) for row in rows]],
        "links.naacl": naacl(links),
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def naacl(lines: tuple[str, ...]) -> list[str]:
    """The links one by one, each with the number of its sentence."""
    return [
        f"{number} {link.replace('p', '-').replace('-', ' ')} {'P' if 'p' in link else 'S'}"
        for number, line in enumerate(lines, 1)
        for link in line.split()
    ]


def sentence(chosen: np.random.Generator) -> list[str]:
    """The words of a sentence whose tree is `TREE`."""
    return [str(chosen.choice(WORDS[kind])) if kind in WORDS else "." for kind, _, _ in TREE]


def treebank(sentences: list[list[str]]) -> str:
    """The sentences as CoNLL-U."""
    lines = []
    for words in sentences:
        for at, (word, (kind, head, relation)) in enumerate(zip(words, TREE, strict=True), 1):
            lines.append(f"{at}\t{word}\t_\t{kind}\t_\t_\t{head}\t{relation}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def document() -> str:
    """A document with two chains, as CoNLL-2012."""
    marked = [
        ("The", "(0"), ("miller", "0)"), ("saw", "-"), ("the", "(1"), ("cat", "1)"), (".", "-"),
        ("He", "(0)"), ("liked", "-"), ("it", "(1)"), (".", "-"),
    ]  # fmt: skip
    lines = ["#begin document (text); part 000"]
    for at, (word, mark) in enumerate(marked):
        lines.append("\t".join(["text", "0", str(at), word, *["-"] * 8, mark]))
    return "\n".join([*lines, "", "#end document", ""])


def tagged(sentences: list[list[str]]) -> str:
    """Words and parts of speech in columns."""
    rows = [
        "\n".join(f"{word} {kind}" for word, (kind, _, _) in zip(words, TREE, strict=True))
        for words in sentences
    ]
    return "\n\n".join(rows) + "\n"


def tiny_classifier(folder: Path, layers: int = 2) -> Path:
    """The same as `tiny_model`, with a head for two classes; its attention is not uniform."""
    folder.mkdir(exist_ok=True)
    tiny_model(folder, layers)
    config = transformers.BertConfig.from_pretrained(folder)
    config.id2label = {0: "negative", 1: "positive"}
    torch.manual_seed(1)
    made = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim > 1:
                parameter.mul_(20)
    made.save_pretrained(folder)
    return folder


def tiny_model(folder: Path, layers: int = 2, seed: int = 0) -> Path:
    """A BERT with random weights and a handful of words, saved in `folder`."""
    words = _tiny_tokenizer(folder)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=words,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=128,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


def tiny_decoder(folder: Path, layers: int = 2, seed: int = 0) -> Path:
    """A GPT-2 with random weights and the same words, saved in `folder`."""
    folder.mkdir(exist_ok=True)
    words = _tiny_tokenizer(folder)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=words,
        n_embd=16,
        n_layer=layers,
        n_head=2,
        n_positions=128,
        eos_token_id=3,
        bos_token_id=2,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def _tiny_tokenizer(folder: Path) -> int:
    """Write it; the number of its words."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = sorted({word for words in WORDS.values() for word in words})
    words = [*special, *known, "sat", "ran", "miller", "he", "it", ".", ","]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return len(words)
