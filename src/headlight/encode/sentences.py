"""Sentences that come as words, as examples that remember them."""

from dataclasses import dataclass, field

from headlight.corpora.sentence import Sentence
from headlight.encode.encoded import Encoded


@dataclass(frozen=True, slots=True)
class EncodedSentence(Encoded):
    """A sentence as an example; `words` numbers the words of the sentence.

    Attributes:
        sentence: The sentence, of which words at the end may have been cut off.
        kept: How many of its words are there, whole, counted from the first.
    """

    sentence: Sentence = field(kw_only=True)
    kept: int = field(kw_only=True)
