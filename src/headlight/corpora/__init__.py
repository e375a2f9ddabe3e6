"""Text on disk, or from elsewhere, as a stream of documents.

`open_corpus` opens texts, `open_sentence_pairs` sentences that are judged, `open_tagged` sentences
whose words have tags, `open_recordings` speech and `open_pictures` pictures, each as a `Corpus`.  A
corpus streams: no file is ever held in memory as a whole, and a line, a sentence or a document that
would not fit is refused.
"""

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
from headlight.corpora.pictures import Picture, open_pictures
from headlight.corpora.samples import NAMES as SAMPLE_NAMES, SAMPLE_REVIEWS, SAMPLE_TEXT
from headlight.corpora.sentence import PUNCTUATION_RELATION, Sentence
from headlight.corpora.source_changes import source_state
from headlight.corpora.speech import Recording, open_recordings
from headlight.corpora.tagged import TAGGED_FORMATS, TaggedSentence, open_tagged
from headlight.corpora.text_corpus import Source, open_corpus
from headlight.corpora.text_formats import FORMATS
from headlight.corpora.text_lines import holds_a_text_a_line

__all__ = [
    "FORMATS",
    "PAIR_FORMATS",
    "PREFIX",
    "PUNCTUATION_RELATION",
    "SAMPLE_NAMES",
    "SAMPLE_REVIEWS",
    "SAMPLE_TEXT",
    "TAGGED_FORMATS",
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
    "as_sentence_pairs",
    "find_format",
    "format_table",
    "holds_a_text_a_line",
    "hub_splits",
    "is_companion",
    "medium_of",
    "open_corpus",
    "open_pictures",
    "open_recordings",
    "open_sentence_pairs",
    "open_tagged",
    "pair_format",
    "source_state",
    "suffixes",
]
