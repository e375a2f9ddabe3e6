"""Sentences with words, one or a pair each, made into examples."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from headlight.corpora import Sentence, SentencePair
from headlight.encode.assembly import Assembly
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import Line, Pieces, Tokenizer, WordPieces, pieces_of_lines, tokenise
from headlight.errors import CorpusError, UsageError, setting
from headlight.settings import require_choice

Overflow = Literal["skip", "truncate", "error"]
"""Treatment of a sentence that is too long."""

Unencodable = Literal["error", "skip"]
"""Treatment of a sentence or a document with a word that the tokenizer does not keep."""


@runtime_checkable
class HasWords(Protocol):
    """A sentence, or a document of several."""

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""


@dataclass(frozen=True, slots=True)
class EncodedSentence(Encoded):
    """A sentence as an example; `words` numbers the words of the sentence.

    Attributes:
        sentence: The sentence, of which words at the end may have been cut off.
        kept: How many of its words are there, whole, counted from the first.
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
    """Every sentence as one example.

    Words are joined by single blanks, also where the text that they come from has none: "do n't ."
    and not "don't.".  What a tokenizer makes of that is not always what it makes of running text.
    BERT separates punctuation anyway, so that words like n't alone differ.  GPT-2, RoBERTa and T5
    write the blank before a word into its first piece: they read "Ġ." where running text gives
    ".", and so meet pieces that are rarer in what they were trained on.

    A sentence without words is left out.  `Examples.counts` says how many of those there were, how
    many did not fit, and how many have words that the tokenizer does not keep.

    Args:
        sentences: Usually of `open_treebank`.
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Tokens in an example at most, special tokens included.
        overflow: What becomes of a longer sentence: ``skip`` leaves it out, as Clark et al. do;
            ``truncate`` keeps the whole words that fit, and leaves it out if not even the first
            does; ``error`` refuses it.
        unencodable: What becomes of a sentence with a word of which the tokenizer makes no token
            (control characters, or what its normaliser drops) or that shares a token with the next
            word: ``error`` refuses it, ``skip`` leaves it out.

    Raises:
        UsageError: The tokenizer is slow, an option is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a sentence is refused; the message names file and line.

    Source: Clark et al. (2019), Section 4.1, and the preprocessing of their code.
    """
    require_choice("way of dealing with long sentences", overflow, Overflow)
    require_choice("way of dealing with words without a token", unencodable, Unencodable)
    assembly = Assembly.of(tokenizer)
    encoder = _SentenceEncoder(assembly, assembly.room(max_length), overflow, unencodable)

    def encode(group: list[Sentence], counts: Counts) -> Iterator[EncodedSentence]:
        encoded = pieces_of_lines(tokenizer, [Line.of(sentence.words) for sentence in group])
        for sentence, pieces in zip(group, encoded, strict=True):
            counts.documents += 1
            yield from encoder.examples(sentence, pieces, counts)

    return Examples(Recipe(sentences, text_of_words, encode, assembly.marks))


def text_of_words(annotated: HasWords) -> tuple[str]:
    """Return the text of the words, which is tokenised."""
    return (" ".join(annotated.words),)


def word_error(sentence: Sentence, number: int, reason: str) -> CorpusError:
    """The error for a word, whose number in its sentence is counted from 0."""
    return CorpusError(
        f"{sentence.name}: word {number + 1}, {sentence.words[number]!r}, {reason}; change the "
        f"word, or leave out what holds such words with {setting('unencodable=skip')}."
    )


@dataclass(frozen=True, slots=True)
class _SentenceEncoder:
    """Makes an example of a sentence."""

    assembly: Assembly
    room: int
    overflow: str
    unencodable: str

    def examples(
        self, sentence: Sentence, pieces: WordPieces, counts: Counts
    ) -> Iterator[EncodedSentence]:
        """One example, or none."""
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
        example = self.assembly.one(sentence.name, pieces.of_words(0, word_count))
        return annotate(example, EncodedSentence, sentence=sentence, kept=word_count)

    def _too_long(self, sentence: Sentence, pieces: WordPieces) -> CorpusError:
        special = self.assembly.single.size
        return CorpusError(
            f"{sentence.name}: the sentence has {len(pieces.pieces) + special} tokens, more than "
            f"{self.room + special}; truncate or skip it, or allow more."
        )


PairOverflow = Literal["truncate", "skip", "error"]
"""Treatment of a pair that is too long."""


@dataclass(frozen=True, slots=True)
class EncodedPair(Encoded):
    """One or two sentences as an example.

    Attributes:
        label: As the source writes it; None where it has none.
    """

    label: str | None = field(kw_only=True)


def sentence_pairs(
    pairs: Iterable[SentencePair],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overflow: str = "truncate",
    decoder_start: int | None = None,
) -> Examples[EncodedPair]:
    """Every pair as one example of two segments, and every single sentence as one of one.

    A pair with a sentence in which the tokenizer finds nothing is left out.  `Examples.counts` says
    how many those were, how many were truncated, and how many did not fit.

    Args:
        pairs: Usually of `open_sentence_pairs`.
        tokenizer: A fast Hugging Face tokenizer.  What stands around the sentences is its own, such
            as ``[CLS] A [SEP] B [SEP]`` with segments 0 and 1.
        max_length: Tokens in an example at most, special tokens included; with a decoder, on either
            side.
        overflow: What becomes of a longer one: ``truncate`` takes tokens from the end of the longer
            sentence (of the second, when they are equally long) until it fits, as BERT's own code
            does; ``skip`` leaves it out; ``error`` refuses it.
        decoder_start: For encoder-decoder models, the id with which the decoder begins: the second
            sentence then becomes `Encoded.target`.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a pair is too long, or a decoder would get no sentence.
    """
    require_choice("way of dealing with long pairs", overflow, PairOverflow)
    encoder = _PairEncoder.of(Assembly.of(tokenizer, decoder_start), max_length, overflow)

    def encode(group: list[SentencePair], counts: Counts) -> Iterator[EncodedPair]:
        firsts = tokenise(tokenizer, [pair.first for pair in group])
        second_texts = [pair.second for pair in group if pair.second is not None]
        seconds = iter(tokenise(tokenizer, second_texts, target=decoder_start is not None))
        for pair, first in zip(group, firsts, strict=True):
            second = None if pair.second is None else next(seconds)
            counts.documents += 1
            for example in encoder.examples(pair.name, first, second, counts):
                yield annotate(example, EncodedPair, label=pair.label)

    return Examples(Recipe(pairs, _texts, encode, encoder.assembly.marks))


def _texts(pair: SentencePair) -> list[str]:
    return [text for text in (pair.first, pair.second) if text is not None]


@dataclass(frozen=True, slots=True)
class _PairEncoder:
    """Makes an example of a pair."""

    assembly: Assembly
    max_length: int
    overflow: str

    @classmethod
    def of(cls, assembly: Assembly, max_length: int, overflow: str) -> "_PairEncoder":
        """Refuse lengths in which two sentences of one token do not fit."""
        assembly.room(max_length)
        if assembly.decoder_start is None and max_length - assembly.pair_size < 2:
            raise UsageError(
                f"a length of {max_length} leaves no room for two sentences beside "
                f"{assembly.pair_size} special tokens; allow more."
            )
        return cls(assembly, max_length, overflow)

    def examples(
        self, name: str, first: Pieces, second: Pieces | None, counts: Counts
    ) -> Iterator[Encoded]:
        """One example, or none."""
        if second is None and self.assembly.decoder_start is not None:
            raise CorpusError(
                f"{name}: there is only one sentence, and the decoder of the model wants a second; "
                "take pairs, or a model without a decoder."
            )
        if not len(first) or (second is not None and not len(second)):
            counts.empty += 1
            return
        sizes = self._fitting(first, second)
        lost = len(first) - sizes[0] + (0 if second is None else len(second) - sizes[1])
        if lost and self.overflow == "error":
            raise CorpusError(
                f"{name}: the sentences have {lost} tokens more than fit into {self.max_length}; "
                "truncate or skip them, or allow more."
            )
        if lost and self.overflow == "skip":
            counts.too_long += 1
            return
        counts.truncated += lost > 0
        counts.lost_tokens += lost
        yield self._example(name, first.window(0, sizes[0]), second, sizes[1])

    def _example(self, name: str, first: Pieces, second: Pieces | None, size: int) -> Encoded:
        if second is None:
            return self.assembly.one(name, first)
        return self.assembly.two(name, first, second.window(0, size))

    def _fitting(self, first: Pieces, second: Pieces | None) -> tuple[int, int]:
        """Return the number of pieces of each that fit."""
        single = self.max_length - self.assembly.single.size
        if second is None:
            return min(len(first), single), 0
        if self.assembly.decoder_start is not None:
            target = self.max_length - self.assembly.target.size
            return min(len(first), single), min(len(second), target)
        room = self.max_length - self.assembly.pair_size
        # The longer one is cut down to the other, then both to halves.
        first_kept = min(len(first), max(room - len(second), -(-room // 2)))
        return first_kept, min(len(second), room - first_kept)
