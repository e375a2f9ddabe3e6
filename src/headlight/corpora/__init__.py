"""Text on disk, or from elsewhere, as a stream of documents.

`open_corpus` is the one door.  Everything behind it streams: no file is ever held in memory as a
whole, and a line or a document that would not fit is refused.
"""

from headlight.corpora.corpus import FORMATS, Corpus, Source, open_corpus
from headlight.corpora.document import Document

__all__ = ["FORMATS", "Corpus", "Document", "Source", "open_corpus"]
