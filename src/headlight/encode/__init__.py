"""Documents to examples that a model can read.

No model and no torch here: a tokenizer goes in.  The step to tensors, `Batch` and `collate`, is in
`headlight.encode.batch`.
"""

from headlight.encode.adjacent_segments import adjacent_segments
from headlight.encode.examples import Counts, Encoded, Examples, annotate, length_batches
from headlight.encode.pieces import piece_style
from headlight.encode.sentence_pairs import EncodedPair, sentence_pairs
from headlight.encode.sentences import EncodedSentence, sentences
from headlight.encode.special_tokens import special_tokens
from headlight.encode.speech import FRAME_NAMES, EncodedSpeech, Hearing, recordings, token_names
from headlight.encode.texts import encode_one, texts

__all__ = [
    "FRAME_NAMES",
    "Counts",
    "Encoded",
    "EncodedPair",
    "EncodedSentence",
    "EncodedSpeech",
    "Examples",
    "Hearing",
    "adjacent_segments",
    "annotate",
    "encode_one",
    "length_batches",
    "piece_style",
    "recordings",
    "sentence_pairs",
    "sentences",
    "special_tokens",
    "texts",
    "token_names",
]
