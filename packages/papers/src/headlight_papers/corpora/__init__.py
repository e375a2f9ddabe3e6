"""Documents with gold coreference, as a stream; `headlight.corpora` has all other corpora."""

from headlight_words.corpora.coreference import CoreferenceDocument, Mention, MentionKind
from headlight_words.corpora.coreference_formats import COREFERENCE_FORMATS, open_coreference

__all__ = [
    "COREFERENCE_FORMATS",
    "CoreferenceDocument",
    "Mention",
    "MentionKind",
    "open_coreference",
]
