"""Sources of studies, and their explanation in Python and on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Reads = Literal[
    "text", "haystack", "treebank", "coreference", "parallel", "labelled", "text_or_labelled"
]
"""The kinds of sources: text, text in which facts are hidden, or for classifiers labelled text; the
last depends on the model."""

EMBEDDED_TRANSLATOR = "headlight-translator"
"""The name of the embedded translation model, from German to English."""

EMBEDDED_CLASSIFIER = "headlight-classifier"
"""The name of the embedded classifier of short reviews."""

ASSETS = Path(__file__).parents[1] / "assets"
"""Models and samples that come with the package."""

_CORPUS = "Study a corpus"
_ANNOTATED = "Study annotated text"
TRANSLATIONS = "Align words of translations"

_MODEL = (
    "its name or folder, a loaded `Model`, or a model of transformers in memory (then with "
    "``tokenizer=``); by default the embedded one."
)
_CLASSIFIER = (
    'its name or folder, a `Model` that was loaded with ``head="classification"``, or a model of '
    "transformers in memory (then with ``tokenizer=``); by default the embedded classifier of "
    "short reviews."
)


@dataclass(frozen=True, kw_only=True)
class SourceKind:
    """One kind of source.

    Attributes:
        explanation: what it may be in Python.
        argument: what it may be on the command line.
        label: what it is, in a table.
        noun: what is counted of it.
        panel: under which heading of the help its studies stand.
        model: which model may read it, in Python.
        default_model: the embedded model that reads it where none is named; None for the usual one.
        sample: the file of `ASSETS` that is read where no source is named; None where the study
            itself chooses a sample.
    """

    explanation: str
    argument: str
    label: str
    noun: str
    panel: str = _ANNOTATED
    model: str = _MODEL
    default_model: str | None = None
    sample: str | None = None

    def or_sample(self, source: Any) -> Any:
        """Return the source, or the sample where none is named and there is one for all."""
        return source if source is not None or self.sample is None else str(ASSETS / self.sample)


SOURCES: Mapping[Reads, SourceKind] = {
    "text": SourceKind(
        explanation="a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that "
        "are made already; for a model of speech recordings; by default the sample corpus.",
        argument="File, folder, glob, hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN], or - for standard "
        "input; for a model of speech recordings. Default: the sample corpus, as pairs.",
        label="text",
        noun="document",
        panel=_CORPUS,
    ),
    "haystack": SourceKind(
        explanation="texts in which facts are hidden (a path, a glob, ``hf:NAME``, texts, an open "
        "corpus); by default the sample corpus.",
        argument="Texts in which facts are hidden: file, folder, glob, "
        "hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN]. Default: the sample corpus.",
        label="nothing, or text in which facts are hidden",
        noun="probe",
        panel=_CORPUS,
    ),
    "treebank": SourceKind(
        explanation="a treebank (a path, a glob, an open treebank); by default the sample "
        "treebank.",
        argument="Treebank: file, folder or glob (CoNLL-U, CoNLL-X, columns). Default: the sample "
        "treebank.",
        label="a treebank",
        noun="sentence",
        sample="sample.conllu",
    ),
    "coreference": SourceKind(
        explanation="documents with coreference (a path, a glob, open documents); by default those "
        "of the sample treebank.",
        argument="Coreference: file, folder or glob (CoNLL-2012, LitBank, CorefUD). Default: the "
        "sample treebank.",
        label="coreference",
        noun="document",
        sample="sample.conllu",
    ),
    "parallel": SourceKind(
        explanation="sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two "
        "texts); for a model of speech recordings; by default the sample translations.",
        argument="Sentence pairs: file, folder, glob, hf:NAME or - (source ||| target, TSV, CSV, "
        "JSON lines, TMX), or the source sentences, with --target; for a model of speech "
        "recordings. Default: the sample translations, with their links.",
        sample="sample.de-en",
        label="translations",
        noun="pair",
        panel=TRANSLATIONS,
        model="its name or folder, a loaded `Model` (for gradients and differences with its "
        "language-model head), or a model of transformers in memory (then with ``tokenizer=``); "
        "by default the embedded translator, from German to English.",
        default_model=EMBEDDED_TRANSLATOR,
    ),
    "labelled": SourceKind(
        explanation="labelled texts, or for a tagger, where the study takes one, sentences with "
        "tags (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and its label, or of "
        "words and tags); by default the sample reviews.",
        argument="Labelled texts: file, folder, glob or hf:NAME (TSV, CSV, JSON lines, SST, AG "
        "News, IMDB, newsgroups, MRPC, CoLA, MNLI); for a tagger words and tags in columns. "
        "Default: the sample reviews.",
        label="labelled texts",
        noun="text",
        model=f"a classifier: {_CLASSIFIER}",
        default_model=EMBEDDED_CLASSIFIER,
        sample="sample.reviews.tsv",
    ),
    "text_or_labelled": SourceKind(
        explanation="texts, as other studies read them (by default the sample corpus); for a "
        "classifier labelled texts, as permutation reads them.",
        argument="Text, as other studies read it (default: the sample corpus, as pairs); "
        "for a classifier labelled texts, as permutation reads them.",
        label="text, or for a classifier labelled texts",
        noun="text",
        panel=_CORPUS,
    ),
}
"""By the name that the row of a study has."""
