"""Sentence pairs as examples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from headlight.corpora import SentencePair
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import Pieces, Tokenizer, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.errors import CorpusError, UsageError
from headlight.settings import require_choice

PairOverflow = Literal["truncate", "skip", "error"]
"""Treatment of a pair that is too long."""


@dataclass(frozen=True, slots=True)
class EncodedPair(Encoded):
    """One or two sentences as an example.

    Attributes:
        label: Label as the source writes it; None where it has none.
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
    """Return every pair as an example of two segments, and every single sentence as one of one.

    A pair with a sentence in which the tokenizer finds nothing is left out.  `Examples.counts` says
    how many those were, how many were truncated, and how many did not fit.

    Args:
        pairs: Pairs, usually of `open_sentence_pairs`.
        tokenizer: Fast Hugging Face tokenizer.  It puts its own special tokens around the
            sentences, such as ``[CLS] A [SEP] B [SEP]`` with segments 0 and 1.
        max_length: Largest number of tokens in an example, special tokens included; with a decoder,
            on either side.
        overflow: Treatment of a longer pair: ``truncate`` takes tokens from the end of the longer
            sentence (of the second, when they are equally long) until it fits, as BERT's own code
            does; ``skip`` leaves it out; ``error`` refuses it.
        decoder_start: Id with which the decoder of an encoder-decoder model begins: the second
            sentence then becomes `Encoded.target`.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a pair is too long, or a decoder would get no sentence.
    """
    require_choice("way of dealing with long pairs", overflow, PairOverflow)
    encoder = _PairEncoder.for_length(
        Assembly.from_tokenizer(tokenizer, decoder_start), max_length, overflow
    )

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
    """Encoder of a pair."""

    assembly: Assembly
    max_length: int
    overflow: str

    @classmethod
    def for_length(cls, assembly: Assembly, max_length: int, overflow: str) -> "_PairEncoder":
        """Return the encoder; refuse lengths in which two sentences of one token do not fit.

        Raises:
            UsageError: no two tokens fit beside the special ones.
        """
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
        """Yield one example, or none.

        Raises:
            CorpusError: the decoder lacks its sentence, or both are too long.
        """
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
            return self.assembly.encode_text(name, first)
        return self.assembly.encode_pair(name, first, second.window(0, size))

    def _fitting(self, first: Pieces, second: Pieces | None) -> tuple[int, int]:
        """Return the number of pieces of each sentence that fit."""
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
