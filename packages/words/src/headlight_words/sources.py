"""Kinds of sources with annotation, and translations: who reads them, and their samples."""

from pathlib import Path

from headlight.catalogue.sources import SourceKind

ASSETS = Path(__file__).parent / "assets"
"""Models and samples that come with the package."""

PANEL = "Align words of translations"
"""Heading of the help for commands that read translations."""

EMBEDDED_TRANSLATOR = "headlight-translator"
"""Name of the embedded translation model, from German to English."""

TREEBANK = SourceKind(
    name="treebank",
    explanation="a treebank (a path, a glob, an open treebank); by default the sample treebank.",
    argument="Treebank: file, folder or glob (CoNLL-U, CoNLL-X, columns). Default: the sample "
    "treebank.",
    label="a treebank",
    noun="sentence",
    sample=ASSETS / "sample.conllu",
)
"""Sentences with their trees."""

COREFERENCE = SourceKind(
    name="coreference",
    explanation="documents with coreference (a path, a glob, open documents); by default those "
    "of the sample treebank.",
    argument="Coreference: file, folder or glob (CoNLL-2012, LitBank, CorefUD). Default: the "
    "sample treebank.",
    label="coreference",
    noun="document",
    sample=ASSETS / "sample.conllu",
)
"""Documents with their coreference."""

PARALLEL = SourceKind(
    name="parallel",
    explanation="sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two "
    "texts); for a model of speech recordings; by default the sample translations.",
    argument="Sentence pairs: file, folder, glob, hf:NAME or - (source ||| target, TSV, CSV, "
    "JSON lines), or the source sentences, with --target; for a model of speech "
    "recordings. Default: the sample translations, with their links.",
    sample=ASSETS / "sample.de-en",
    label="translations",
    noun="pair",
    panel=PANEL,
    model="its name or folder, a loaded `Model` (for gradients and differences with its "
    "language-model head), or a model of transformers in memory (then with ``tokenizer=``); "
    "by default the embedded translator, from German to English.",
    default_model=EMBEDDED_TRANSLATOR,
)
"""Sentences with their translations."""
