"""Translations as examples for an encoder-decoder model, or for an encoder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import SPECIAL_WORD, Tokenizer, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.errors import CorpusError
from headlight.settings import require_choice
from headlight_words.corpora import TranslationPair

Overflow = Literal["skip", "error"]
"""Treatment of a pair that is too long; cut off, its words could not be aligned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedTranslation(Encoded):
    """A sentence and its translation, as an encoder and its decoder, or one encoder, read them.

    Attributes:
        index: Index of the pair in the corpus, from 0.
        source_text: Words of the source, as blanks separate them; `words` numbers these.
        target_text: Words of the target; `target_words` numbers these.
    """

    index: int
    source_text: tuple[str, ...]
    target_text: tuple[str, ...]


def translations(
    pairs: Iterable[TranslationPair],
    tokenizer: Tokenizer,
    *,
    decoder_start: int | None,
    max_length: int | None = None,
    overflow: str = "skip",
    prefix: str = "",
) -> Examples[EncodedTranslation]:
    """Encode every pair as one example; leave out and count pairs too long or with an empty side.

    The decoder reads the labels moved by one place: at the place where it reads a piece, it has
    just predicted it.  So a piece is read at its own place in `Encoded.target` and predicted at the
    place before, whatever stands at the beginning (a start token, a language code).

    Args:
        pairs: Pairs, usually of `headlight_words.corpora.open_parallel`.
        tokenizer: Fast Hugging Face tokenizer; the tokens that it puts around a source and a target
            belong to no word, and neither does the prefix.
        decoder_start: Id with which the decoder begins; None if an encoder reads both, each text
            by itself.
        max_length: Tokens on either side at most, special tokens included; None for no limit.
        overflow: Treatment of a longer pair: it is left out (``skip``), or an ``error``.
        prefix: Text before every source, as T5 wants it: ``translate German to English:``.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a pair is too long, and that is an ``error``.
    """
    require_choice("way of dealing with long pairs", overflow, Overflow)
    assembly = Assembly.from_tokenizer(tokenizer, decoder_start)
    together = assembly.encode_apart if decoder_start is None else assembly.encode_pair
    if max_length is not None:
        assembly.room(max_length)
    lead, words = f"{prefix.strip()} ".lstrip(), len(prefix.split())

    def encode(group: list[TranslationPair], counts: Counts) -> Iterator[EncodedTranslation]:
        sources = tokenise(tokenizer, [lead + pair.source for pair in group], special_apart=False)
        targets = tokenise(
            tokenizer, [pair.target for pair in group], target=True, special_apart=False
        )
        for pair, source, target in zip(group, sources, targets, strict=True):
            counts.documents += 1
            if not (pair.source.strip() and len(source) and len(target)):
                counts.empty += 1
                continue
            example = together(pair.name, source, target)
            if _is_too_long(example, max_length, overflow):
                counts.too_long += 1
                continue
            # The words of the prefix come first, and are no words of the sentence.
            words_of_pair = tuple(
                at - words if at >= words else SPECIAL_WORD for at in example.words
            )
            yield annotate(
                replace(example, words=words_of_pair),
                EncodedTranslation,
                index=counts.documents - 1,
                source_text=tuple(pair.source.split()),
                target_text=tuple(pair.target.split()),
            )

    return Examples(Recipe(pairs, lambda pair: (pair.source, pair.target), encode, assembly.marks))


def _is_too_long(example: Encoded, max_length: int | None, overflow: str) -> bool:
    length = max(len(example.ids), len(example.target))
    too_long = max_length is not None and length > max_length
    if too_long and overflow == "error":
        raise CorpusError(
            f"{example.name}: the pair has {length} tokens on one side, more than {max_length}; "
            "leave it out, or allow more."
        )
    return too_long
