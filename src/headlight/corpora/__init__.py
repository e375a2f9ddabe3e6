"""Text on disk, or from elsewhere, as a stream of documents; gold annotations as a stream, too.

`open_corpus` opens texts, `open_treebank` gold trees, `open_sentence_pairs` sentences that are
judged, `open_tagged` sentences whose words have tags, `open_parallel` translations,
`open_recordings` speech and `open_pictures` pictures, each as a `Corpus`; `read_word_vectors` reads
vectors.  A corpus streams: no file is ever held in memory as a whole, and a line, a sentence or a
document that would not fit is refused.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headlight.chats import Chat
from headlight.corpora.compression import suffixes
from headlight.corpora.corpus import Corpus, CorpusCounts, CorpusKind, Invalid
from headlight.corpora.documents import Document
from headlight.corpora.files import is_companion
from headlight.corpora.formats import Format, find_format, format_table, pair_format
from headlight.corpora.hub import PREFIX, HubSource, hub_splits
from headlight.corpora.media import medium_of
from headlight.corpora.pair_corpus import as_sentence_pairs, open_sentence_pairs
from headlight.corpora.pair_formats import PAIR_FORMATS
from headlight.corpora.pairs import SentencePair
from headlight.corpora.parallel import TranslationPair
from headlight.corpora.parallel_corpus import PARALLEL_FORMATS, open_parallel
from headlight.corpora.pictures import Picture, open_pictures
from headlight.corpora.samples import (
    NAMES as SAMPLE_NAMES,
    SAMPLE_LINKS,
    SAMPLE_REVIEWS,
    SAMPLE_TEXT,
    SAMPLE_TRANSLATIONS,
    SAMPLE_TREEBANK,
)
from headlight.corpora.sentence import PUNCTUATION_RELATION, Sentence
from headlight.corpora.source_changes import source_state
from headlight.corpora.speech import Recording, open_recordings
from headlight.corpora.tagged import TAGGED_FORMATS, TaggedSentence, open_tagged
from headlight.corpora.text_corpus import Source, open_corpus
from headlight.corpora.text_formats import FORMATS
from headlight.corpora.text_lines import holds_a_text_a_line
from headlight.corpora.treebank import TREEBANK_FORMATS, open_treebank
from headlight.corpora.trees import ROOT

if TYPE_CHECKING:
    from headlight.corpora.word_vectors import UNKNOWN, WordVectors, read_word_vectors

__all__ = [
    "FORMATS",
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
    "Format",
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
    "find_format",
    "format_table",
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
    "pair_format",
    "read_word_vectors",
    "source_state",
    "suffixes",
]


def __getattr__(name: str) -> Any:
    if name in ("UNKNOWN", "WordVectors", "read_word_vectors"):  # what alone needs numpy
        return getattr(import_module("headlight.corpora.word_vectors"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
