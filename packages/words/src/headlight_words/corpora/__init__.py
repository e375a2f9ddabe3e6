"""Annotated and parallel text on disk, as streams: trees, coreference, translations, word vectors.

`open_treebank` opens gold trees, `open_coreference` documents with mentions, `open_parallel`
translations, each as a `headlight.corpora.Corpus`; `read_word_vectors` reads vectors.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headlight_words.corpora.coreference import CoreferenceDocument, Mention, MentionKind
from headlight_words.corpora.coreference_formats import COREFERENCE_FORMATS, open_coreference
from headlight_words.corpora.parallel import TranslationPair
from headlight_words.corpora.parallel_corpus import PARALLEL_FORMATS, open_parallel
from headlight_words.corpora.samples import SAMPLE_LINKS, SAMPLE_TRANSLATIONS, SAMPLE_TREEBANK
from headlight_words.corpora.treebank import TREEBANK_FORMATS, open_treebank
from headlight_words.corpora.trees import ROOT

if TYPE_CHECKING:
    from headlight_words.corpora.word_vectors import UNKNOWN, WordVectors, read_word_vectors

__all__ = [
    "COREFERENCE_FORMATS",
    "PARALLEL_FORMATS",
    "ROOT",
    "SAMPLE_LINKS",
    "SAMPLE_TRANSLATIONS",
    "SAMPLE_TREEBANK",
    "TREEBANK_FORMATS",
    "UNKNOWN",
    "CoreferenceDocument",
    "Mention",
    "MentionKind",
    "TranslationPair",
    "WordVectors",
    "open_coreference",
    "open_parallel",
    "open_treebank",
    "read_word_vectors",
]


def __getattr__(name: str) -> Any:
    if name in ("UNKNOWN", "WordVectors", "read_word_vectors"):  # what alone needs numpy
        return getattr(import_module("headlight_words.corpora.word_vectors"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
