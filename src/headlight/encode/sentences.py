"""Sentences that come as words, as examples that remember them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from headlight.corpora import Sentence
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import Tokenizer
from headlight.encode.special_tokens import Assembly
from headlight.encode.word_pieces import Line, WordPieces, pieces_of_lines
from headlight.errors import CorpusError, setting
from headlight.settings import require_choice

Overflow = Literal["skip", "truncate", "error"]
"""Treatment of a sentence that is too long."""

Unencodable = Literal["error", "skip"]
"""Treatment of a sentence or a document with a word that the tokenizer does not keep."""


@runtime_checkable
class HasWords(Protocol):
    """Sentence, or document of several."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return all words, in order."""


@dataclass(frozen=True, slots=True)
class EncodedSentence(Encoded):
    """Sentence as an example; `words` numbers the words of the sentence.

    Attributes:
        sentence: Sentence, of which words at the end may have been cut off.
        kept: Number of its whole words that are kept, counted from the first.
    """

    sentence: Sentence = field(kw_only=True)
    kept: int = field(kw_only=True)


def sentences(
    sentences: Iterable[Sentence],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overflow: str = "skip",
    unencodable: str = "error",
) -> Examples[EncodedSentence]:
    """Return every sentence as one example.

    Words are joined by single blanks, also where the text that they come from has none: "do n't ."
    and not "don't.".  What a tokenizer makes of that is not always what it makes of running text.
    BERT separates punctuation anyway, so that words like n't alone differ.  GPT-2, RoBERTa and T5
    write the blank before a word into its first piece: they read "Ġ." where running text gives
    ".", and so meet pieces that are rarer in what they were trained on.

    A sentence without words is left out.  `Examples.counts` says how many of those there were, how
    many did not fit, and how many have words that the tokenizer does not keep.

    Args:
        sentences: Sentences, usually of `open_treebank`.
        tokenizer: Fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Largest number of tokens in an example, special tokens included.
        overflow: Treatment of a longer sentence: ``skip`` leaves it out, as Clark et al. do;
            ``truncate`` keeps the whole words that fit, and leaves it out if not even the first
            does; ``error`` refuses it.
        unencodable: Treatment of a sentence with a word of which the tokenizer makes no token
            (control characters, or what its normaliser drops) or that shares a token with the next
            word: ``error`` refuses it, ``skip`` leaves it out.

    Raises:
        UsageError: The tokenizer is slow, an option is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a sentence is refused; the message names file and line.

    Source: Clark et al. (2019), Section 4.1, and the preprocessing of their code.
    """
    require_choice("way of dealing with long sentences", overflow, Overflow)
    require_choice("way of dealing with words without a token", unencodable, Unencodable)
    assembly = Assembly.from_tokenizer(tokenizer)
    encoder = _SentenceEncoder(assembly, assembly.room(max_length), overflow, unencodable)

    def encode(group: list[Sentence], counts: Counts) -> Iterator[EncodedSentence]:
        encoded = pieces_of_lines(
            tokenizer, [Line.from_words(sentence.words) for sentence in group]
        )
        for sentence, pieces in zip(group, encoded, strict=True):
            counts.documents += 1
            yield from encoder.examples(sentence, pieces, counts)

    return Examples(Recipe(sentences, text_of_words, encode, assembly.marks))


def text_of_words(annotated: HasWords) -> tuple[str]:
    """Return the text of the words, which is tokenised."""
    return (" ".join(annotated.words),)


def word_error(sentence: Sentence, number: int, reason: str) -> CorpusError:
    """Return the error for a word, whose number in its sentence is counted from 0."""
    return CorpusError(
        f"{sentence.name}: word {number + 1}, {sentence.words[number]!r}, {reason}; change the "
        f"word, or leave out what holds such words with {setting('unencodable=skip')}."
    )


@dataclass(frozen=True, slots=True)
class _SentenceEncoder:
    """Encoder of a sentence."""

    assembly: Assembly
    room: int
    overflow: str
    unencodable: str

    def examples(
        self, sentence: Sentence, pieces: WordPieces, counts: Counts
    ) -> Iterator[EncodedSentence]:
        """Yield one example, or none.

        Raises:
            CorpusError: the sentence is too long, or a word cannot be encoded.
        """
        word_count = bisect_right(pieces.ends, self.room)
        too_long = word_count < pieces.word_count
        if too_long and self.overflow == "error":
            raise self._too_long(sentence, pieces)
        fault = pieces.fault_within(word_count)
        if not pieces.word_count:
            counts.empty += 1
        elif too_long and (self.overflow == "skip" or not word_count):
            counts.too_long += 1
        elif fault and self.unencodable == "error":
            raise word_error(sentence, *fault)
        elif fault:
            counts.unencodable += 1
        else:
            counts.truncated += too_long
            counts.lost_tokens += len(pieces.pieces) - pieces.begin(word_count)
            yield self._example(sentence, pieces, word_count)

    def _example(self, sentence: Sentence, pieces: WordPieces, word_count: int) -> EncodedSentence:
        example = self.assembly.encode_text(sentence.name, pieces.of_words(0, word_count))
        return annotate(example, EncodedSentence, sentence=sentence, kept=word_count)

    def _too_long(self, sentence: Sentence, pieces: WordPieces) -> CorpusError:
        special = self.assembly.single.size
        return CorpusError(
            f"{sentence.name}: the sentence has {len(pieces.pieces) + special} tokens, more than "
            f"{self.room + special}; truncate or skip it, or allow more."
        )
