"""What studies read, and how that is explained in Python and on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Reads = Literal[
    "text", "haystack", "treebank", "coreference", "parallel", "labelled", "text_or_labelled"
]
"""The kinds of sources: text, text in which facts are hidden, or for classifiers labelled text; the
last depends on the model."""

EMBEDDED_TRANSLATOR = "headlight-translator"
"""The name of the embedded translation model, from German to English."""

_CORPUS = "Study a corpus"
_ANNOTATED = "Study annotated text"
TRANSLATIONS = "Align words of translations"

_MODEL = (
    "its name or folder, a loaded `Model`, or a model of transformers in memory (then with "
    "``tokenizer=``); by default the embedded one."
)
_CLASSIFIER = (
    'its name or folder, a `Model` that was loaded with ``head="classification"``, or a model of '
    "transformers in memory (then with ``tokenizer=``). The embedded model is none."
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
        has_sample: whether there is a sample corpus, which is read where no source is named.
    """

    explanation: str
    argument: str
    label: str
    noun: str
    panel: str = _ANNOTATED
    model: str = _MODEL
    default_model: str | None = None
    has_sample: bool = False


SOURCES: Mapping[Reads, SourceKind] = {
    "text": SourceKind(
        explanation="a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that "
        "are made already; for a model of speech recordings; by default the sample corpus.",
        argument="File, folder, glob, hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN], or - for standard "
        "input; for a model of speech recordings. Default: the sample corpus, as pairs.",
        label="text",
        noun="document",
        panel=_CORPUS,
        has_sample=True,
    ),
    "haystack": SourceKind(
        explanation="texts in which facts are hidden (a path, a glob, ``hf:NAME``, texts, an open "
        "corpus); by default the sample corpus.",
        argument="Texts in which facts are hidden: file, folder, glob, "
        "hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN]. Default: the sample corpus.",
        label="nothing, or text in which facts are hidden",
        noun="probe",
        panel=_CORPUS,
        has_sample=True,
    ),
    "treebank": SourceKind(
        explanation="a treebank (a path, a glob, an open treebank).",
        argument="Treebank: file, folder or glob (CoNLL-U, CoNLL-X, columns).",
        label="a treebank",
        noun="sentence",
    ),
    "coreference": SourceKind(
        explanation="documents with coreference (a path, a glob, open documents).",
        argument="Coreference: file, folder or glob (CoNLL-2012, LitBank, CorefUD).",
        label="coreference",
        noun="document",
    ),
    "parallel": SourceKind(
        explanation="sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two "
        "texts); for a model of speech recordings.",
        argument="Sentence pairs: file, folder, glob, hf:NAME or - (source ||| target, TSV, CSV, "
        "JSON lines, TMX), or the source sentences, with --target; for a model of speech "
        "recordings.",
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
        "words and tags).",
        argument="Labelled texts: file, folder, glob or hf:NAME (TSV, CSV, JSON lines, SST, AG "
        "News, IMDB, newsgroups, MRPC, CoLA, MNLI); for a tagger words and tags in columns.",
        label="labelled texts",
        noun="text",
        model=f"a classifier: {_CLASSIFIER}",
    ),
    "text_or_labelled": SourceKind(
        explanation="texts, as other studies read them (by default the sample corpus); for a "
        "classifier labelled texts, as permutation reads them.",
        argument="Text, as other studies read it (default: the sample corpus, as pairs); "
        "for a classifier labelled texts, as permutation reads them.",
        label="text, or for a classifier labelled texts",
        noun="text",
        panel=_CORPUS,
        has_sample=True,
    ),
}
"""By the name that the row of a study has."""
