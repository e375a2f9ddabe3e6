"""Text on disk, or from elsewhere, as a stream of documents; gold annotations as a stream, too.

`open_corpus` is the door to texts, `open_treebank` to gold trees, `open_coreference` to gold
coreference and `open_sentence_pairs` to sentences that are judged; `read_word_vectors` reads
vectors.  Everything behind the doors streams: no file is ever held in memory as a whole, and a
line, a sentence or a document that would not fit is refused.
"""

from headlight.corpora.coreference.coreference_corpus import (
    COREFERENCE_FORMATS,
    CoreferenceCorpus,
    open_coreference,
)
from headlight.corpora.coreference.documents import CoreferenceDocument, Mention, MentionKind
from headlight.corpora.corpus import FORMATS, Corpus, Source, open_corpus
from headlight.corpora.pairs.pair_corpus import SentencePairs, open_sentence_pairs
from headlight.corpora.pairs.pair_rows import PAIR_FORMATS
from headlight.corpora.pairs.sentence_pair import SentencePair
from headlight.corpora.text.document import Document
from headlight.corpora.trees.sentence import PUNCTUATION_RELATION, ROOT, Sentence
from headlight.corpora.trees.treebank import Treebank, open_treebank
from headlight.corpora.trees.treebank_formats import TREEBANK_FORMATS
from headlight.corpora.word_vectors import UNKNOWN, WordVectors, read_word_vectors

__all__ = [
    "COREFERENCE_FORMATS",
    "FORMATS",
    "PAIR_FORMATS",
    "PUNCTUATION_RELATION",
    "ROOT",
    "TREEBANK_FORMATS",
    "UNKNOWN",
    "CoreferenceCorpus",
    "CoreferenceDocument",
    "Corpus",
    "Document",
    "Mention",
    "MentionKind",
    "Sentence",
    "SentencePair",
    "SentencePairs",
    "Source",
    "Treebank",
    "WordVectors",
    "open_coreference",
    "open_corpus",
    "open_sentence_pairs",
    "open_treebank",
    "read_word_vectors",
]
