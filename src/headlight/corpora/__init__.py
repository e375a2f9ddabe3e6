"""Text on disk, or from elsewhere, as a stream of documents; gold annotations as a stream, too.

`open_corpus` opens texts, `open_treebank` gold trees, `open_sentence_pairs` sentences that are
judged, `open_tagged` sentences whose words have tags, `open_parallel` translations,
`open_recordings` speech and `open_pictures` pictures, each as a `Corpus`; `read_word_vectors` reads
vectors.  A corpus streams: no file is ever held in memory as a whole, and a line, a sentence or a
document that would not fit is refused.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headlight.chats import Chat
from headlight.corpora.compression import (
    NAMES as SAMPLE_NAMES,
    SAMPLE_LINKS,
    SAMPLE_REVIEWS,
    SAMPLE_TEXT,
    SAMPLE_TRANSLATIONS,
    SAMPLE_TREEBANK,
    suffixes,
)
from headlight.corpora.corpus import Corpus, CorpusCounts, CorpusKind, Invalid
from headlight.corpora.files import is_companion
from headlight.corpora.hub import PREFIX, HubSource, hub_splits, source_state
from headlight.corpora.pair_corpus import open_sentence_pairs
from headlight.corpora.pairs import PAIR_FORMATS, SentencePair
from headlight.corpora.parallel import TranslationPair
from headlight.corpora.parallel_corpus import PARALLEL_FORMATS, as_sentence_pairs, open_parallel
from headlight.corpora.pictures import Picture, open_pictures
from headlight.corpora.speech import Recording, medium_of, open_recordings
from headlight.corpora.tagged import TAGGED_FORMATS, TaggedSentence, open_tagged
from headlight.corpora.text import Document
from headlight.corpora.text_corpus import FORMATS, Source, holds_a_text_a_line, open_corpus
from headlight.corpora.treebank import TREEBANK_FORMATS, open_treebank
from headlight.corpora.trees import PUNCTUATION_RELATION, ROOT, Sentence

if TYPE_CHECKING:
    from headlight.corpora.word_vectors import UNKNOWN, WordVectors, read_word_vectors

__all__ = [
    "FORMATS",
    "OF_TWO_TEXTS",
    "PAIR_FORMATS",
    "PARALLEL_FORMATS",
    "PREFIX",
    "PUNCTUATION_RELATION",
    "ROOT",
    "SAMPLE_LINKS",
    "SAMPLE_NAMES",
    "SAMPLE_REVIEWS",
    "SAMPLE_TEXT",
    "SAMPLE_TRANSLATIONS",
    "SAMPLE_TREEBANK",
    "TAGGED_FORMATS",
    "TREEBANK_FORMATS",
    "UNKNOWN",
    "Chat",
    "Corpus",
    "CorpusCounts",
    "CorpusKind",
    "Document",
    "HubSource",
    "Invalid",
    "Picture",
    "Recording",
    "Sentence",
    "SentencePair",
    "Source",
    "TaggedSentence",
    "TranslationPair",
    "WordVectors",
    "as_sentence_pairs",
    "holds_a_text_a_line",
    "hub_splits",
    "is_companion",
    "medium_of",
    "open_corpus",
    "open_parallel",
    "open_pictures",
    "open_recordings",
    "open_sentence_pairs",
    "open_tagged",
    "open_treebank",
    "read_word_vectors",
    "source_state",
    "suffixes",
]

OF_TWO_TEXTS: Mapping[str, Callable[[str], Corpus]] = {
    "pairs": open_sentence_pairs,
    "translations": open_parallel,
}
"""Functions that open corpora of pairs of texts, by the format that studies of texts name."""


def __getattr__(name: str) -> Any:
    if name in ("UNKNOWN", "WordVectors", "read_word_vectors"):  # what alone needs numpy
        return getattr(import_module("headlight.corpora.word_vectors"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
