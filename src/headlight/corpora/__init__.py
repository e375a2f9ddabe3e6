"""Text on disk, or from elsewhere, as a stream of documents; gold annotations as a stream, too.

`open_corpus` is the one door to texts and `open_treebank` the one to gold trees.  Everything behind
them streams: no file is ever held in memory as a whole, and a line, a sentence or a document that
would not fit is refused.
"""

from headlight.corpora.corpus import FORMATS, Corpus, Source, open_corpus
from headlight.corpora.document import Document
from headlight.corpora.sentence import ROOT, CoreferenceDocument, Mention, MentionKind, Sentence
from headlight.corpora.treebank import Treebank, open_treebank
from headlight.corpora.treebank_formats import TREEBANK_FORMATS

__all__ = [
    "FORMATS",
    "ROOT",
    "TREEBANK_FORMATS",
    "CoreferenceDocument",
    "Corpus",
    "Document",
    "Mention",
    "MentionKind",
    "Sentence",
    "Source",
    "Treebank",
    "open_corpus",
    "open_treebank",
]
