"""Documents to examples that a model can read.

No model and no torch here: a tokenizer goes in.  The step to tensors, `Batch` and `collate`, is in
`headlight.encode.batch`.
"""

from headlight.encode.adjacent_segments import pairs
from headlight.encode.encoded import Encoded
from headlight.encode.examples import Counts, Examples
from headlight.encode.lengths import length_batches
from headlight.encode.one import encode_one
from headlight.encode.sentence_pairs import sentence_pairs
from headlight.encode.sentences import EncodedSentence, sentences
from headlight.encode.single import texts
from headlight.encode.spans import EncodedSpan, documents, windows

__all__ = [
    "Counts",
    "Encoded",
    "EncodedSentence",
    "EncodedSpan",
    "Examples",
    "documents",
    "encode_one",
    "length_batches",
    "pairs",
    "sentence_pairs",
    "sentences",
    "texts",
    "windows",
]
