"""Documents to examples that a model can read.

No model and no torch here: a tokenizer goes in.  The step to tensors, `Batch` and `collate`, is in
`headlight.encode.batch`.
"""

from headlight.encode.assembly import EncodedTranslation, special_tokens, translations
from headlight.encode.examples import Counts, Encoded, Examples, annotate, length_batches
from headlight.encode.pieces import piece_style
from headlight.encode.sentences import EncodedPair, EncodedSentence, sentence_pairs, sentences
from headlight.encode.speech import FRAME_NAMES, EncodedSpeech, Hearing, recordings, token_names
from headlight.encode.texts import adjacent_segments, encode_one, texts

__all__ = [
    "FRAME_NAMES",
    "Counts",
    "Encoded",
    "EncodedPair",
    "EncodedSentence",
    "EncodedSpeech",
    "EncodedTranslation",
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
    "translations",
]
