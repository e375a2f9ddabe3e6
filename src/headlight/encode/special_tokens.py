"""Special tokens around texts, for one text, a pair, and a translation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from headlight.encode.examples import Encoded, Marks
from headlight.encode.pieces import (
    SPECIAL_WORD,
    Pieces,
    Tokenizer,
    require_fast,
    special_ids,
    unknown_id,
)
from headlight.encode.slow_tokenizers import with_words
from headlight.encode.token_categories import CLS, OTHER, SEP, Categories
from headlight.errors import ModelError, UsageError
from headlight.vocabulary import CATEGORIES, TEMPLATE

TRIAL_TEXTS = ("a", ".", "0")
VOCABULARY_TRIALS = 2000


@dataclass(frozen=True, slots=True)
class WithSpecialTokens:
    """Ids, token type ids and words of an example, special tokens included.

    ``categories`` hold for tokens of which the vocabulary says nothing: a special token before a
    text begins it, another ends one.
    """

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    words: tuple[int, ...]
    categories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """Template of special tokens before, between and after texts: ids, each with its token type id.

    A tokenizer that adds nothing (GPT-2) has three empty places: two texts then follow each other
    without a mark.
    """

    before: tuple[tuple[int, int], ...]
    between: tuple[tuple[int, int], ...]
    after: tuple[tuple[int, int], ...]
    segments: tuple[int, int]

    @classmethod
    def from_tokenizer(
        cls, tokenizer: Tokenizer, *, pair: bool, target: bool = False
    ) -> "Template":
        """Read the template off an example that the tokenizer itself has put together.

        Raises:
            ModelError: No text at all gives a token.
        """
        for text in _trial_texts(tokenizer):
            places = _places(tokenizer, text, pair=pair, target=target)
            if places is not None:
                return places
        raise ModelError(
            f"the tokenizer {type(tokenizer).__name__} makes no token of any text; "
            "check that its vocabulary is complete."
        )

    @property
    def size(self) -> int:
        """Return the number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def without_segments(self) -> "Template":
        """Return a copy with all token type ids zero."""
        marks = (self.before, self.between, self.after)
        before, between, after = (tuple((token, 0) for token, _ in mark) for mark in marks)
        return Template(before, between, after, (0, 0))

    def with_special_tokens(self, first: Pieces, second: Pieces | None = None) -> WithSpecialTokens:
        """Add special tokens to texts; words of the second are counted on from the first."""
        second = second or Pieces((), (), 0)
        marks = (self.before, self.between, self.after)
        before, between, after = (tuple(token for token, _ in mark) for mark in marks)
        types = [tuple(segment for _, segment in mark) for mark in marks]
        blank = [(SPECIAL_WORD,) * len(mark) for mark in marks]
        shifted = tuple(word + first.word_count if word >= 0 else word for word in second.words)
        first_type, second_type = ((segment,) for segment in self.segments)
        return WithSpecialTokens(
            ids=(*before, *first.ids, *between, *second.ids, *after),
            segments=types[0]
            + first_type * len(first)
            + types[1]
            + second_type * len(second)
            + types[2],
            words=(*blank[0], *first.words, *blank[1], *shifted, *blank[2]),
            categories=(
                *(CLS,) * len(before),
                *(OTHER,) * len(first),
                *(SEP,) * len(between),
                *(OTHER,) * len(second),
                *(SEP,) * len(after),
            ),
        )


def _trial_texts(tokenizer: Tokenizer) -> Iterator[str]:
    # A vocabulary of other signs, such as amino acids, may know none of the trial texts.
    yield from TRIAL_TEXTS
    vocabulary = cast("Any", tokenizer).backend_tokenizer
    for token in islice(range(vocabulary.get_vocab_size()), VOCABULARY_TRIALS):
        yield vocabulary.decode([token])


def _places(tokenizer: Tokenizer, text: str, *, pair: bool, target: bool) -> Template | None:
    names = ("text_target", "text_pair_target") if target else ("text", "text_pair")
    texts = {name: [text] for name in names[: 1 + pair]}
    encoding = tokenizer(**texts, verbose=False).encodings[0]
    owners = encoding.sequence_ids
    if any(owner not in owners for owner in range(1 + pair)):
        return None  # the text has no pieces in this vocabulary
    tokens = list(zip(encoding.ids, encoding.type_ids, strict=True))
    start, stop = owners.index(0), _end(owners, 0)
    resume, end = (owners.index(1), _end(owners, 1)) if pair else (stop, stop)
    return Template(
        before=tuple(tokens[:start]),
        between=tuple(tokens[stop:resume]),
        after=tuple(tokens[end:]),
        segments=(tokens[start][1], tokens[resume][1] if pair else 0),
    )


def _end(owners: list[int | None], owner: int) -> int:
    return len(owners) - owners[::-1].index(owner)


@dataclass(frozen=True, slots=True)
class Assembly:
    """Facts about a tokenizer by which examples are put together.

    Attributes:
        single: Template around one text.
        pair: Template around two texts.
        target: Template around a text of the target language.
        categories: Categories of its vocabulary.
        decoder_start: Id with which the decoder begins; None if there is no decoder that takes a
            text of its own.
        marks: Marks by which tokens are counted.
    """

    single: Template
    pair: Template
    target: Template
    categories: Categories
    decoder_start: int | None
    marks: Marks

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer, decoder_start: int | None = None) -> "Assembly":
        """Read the facts off a fast tokenizer.

        Raises:
            UsageError: The tokenizer is a slow one.
        """
        tokenizer = with_words(tokenizer)
        require_fast(tokenizer)
        single = Template.from_tokenizer(tokenizer, pair=False)
        two_texts = decoder_start is None
        return cls(
            single=single,
            pair=Template.from_tokenizer(tokenizer, pair=True) if two_texts else single,
            target=Template.from_tokenizer(tokenizer, pair=False, target=True),
            categories=Categories.from_tokenizer(tokenizer),
            decoder_start=decoder_start,
            marks=Marks(unknown_id(tokenizer), special_ids(tokenizer), len(single.before)),
        )

    def without_special_tokens(self) -> "Assembly":
        """Return a copy that puts nothing around one text."""
        marks = replace(self.marks, before=0)
        return replace(self, single=Template((), (), (), self.single.segments), marks=marks)

    def without_segments(self) -> "Assembly":
        """Return a copy with all token type ids zero."""
        return replace(
            self, single=self.single.without_segments(), pair=self.pair.without_segments()
        )

    @property
    def pair_size(self) -> int:
        """Return the number of special tokens in an example of two texts."""
        if self.decoder_start is None:
            return self.pair.size
        return self.single.size + self.target.size

    def room(self, max_length: int) -> int:
        """Return the number of pieces that fit beside the special tokens of one text.

        Raises:
            UsageError: No piece fits.
        """
        room = max_length - self.single.size
        if room < 1:
            raise UsageError(
                f"a length of {max_length} leaves no room for text beside "
                f"{self.single.size} special tokens; allow more."
            )
        return room

    def encode_text(self, name: str, text: Pieces) -> Encoded:
        """Return an example of one text; special tokens around segments are the template's."""
        example = self._encode(name, self.single.with_special_tokens(text))
        if not text.segment_names:
            return example
        marks = self.single.before, self.single.after
        before, after = ((TEMPLATE,) * len(mark) for mark in marks)
        return replace(example, segment_names=(*before, *text.segment_names, *after))

    def encode_pair(self, name: str, first: Pieces, second: Pieces) -> Encoded:
        """Return an example of two texts; with a decoder, the second is the decoder's input."""
        if self.decoder_start is not None:
            return self._translate(name, first, second, self.decoder_start)
        return self._encode(name, self.pair.with_special_tokens(first, second))

    def encode_apart(self, name: str, first: Pieces, second: Pieces) -> Encoded:
        """Return two texts, each as an encoder reads it alone; the second is `Encoded.target`."""
        source = self._encode(name, self.single.with_special_tokens(first))
        target = self._encode(name, self.target.with_special_tokens(second))
        return replace(
            source,
            target=target.ids,
            target_categories=target.categories,
            target_words=target.words,
        )

    def special_tokens(self) -> Encoded:
        """Return the special tokens around a text, and around a decoder's text, without texts."""
        nothing = Pieces((), (), 0)
        if self.decoder_start is None:
            return self.encode_text("special tokens", nothing)
        return self.encode_pair("special tokens", nothing, nothing)

    def _encode(self, name: str, example: WithSpecialTokens) -> Encoded:
        categories = self.categories.of_ids(example.ids, example.categories)
        return Encoded(name, example.ids, example.segments, categories, example.words)

    def _translate(self, name: str, first: Pieces, second: Pieces, start: int) -> Encoded:
        # The decoder is given the labels moved by one place: while it reads token i it predicts
        # token i + 1, so that the last is never given.
        labels = self.encode_apart(name, first, second)
        return replace(
            labels,
            target=(start, *labels.target[:-1]),
            target_categories=(CLS, *labels.target_categories[:-1]),
            target_words=(SPECIAL_WORD, *labels.target_words[:-1]),
        )


Names = dict[str, str]
"""Names of special tokens, by their category."""


def special_tokens(tokenizer: Tokenizer, decoder_start: int | None = None) -> tuple[Names, Names]:
    """Return the names of the special tokens around a text, and around one for the decoder.

    They are read off what the tokenizer itself puts there: in NLLB the source begins with
    ``deu_Latn``, and the target with ``</s> and eng_Latn``.  A category without such a token has
    the name that the tokenizer gives it, if any.

    Args:
        tokenizer: Fast Hugging Face tokenizer.
        decoder_start: Id with which the decoder begins; without it both results are the same.

    Raises:
        UsageError: The tokenizer is slow.
    """
    added = Assembly.from_tokenizer(tokenizer, decoder_start).special_tokens()
    tokenizer_names = _own_names(tokenizer)
    source = tokenizer_names | _names(tokenizer, added.ids, added.categories)
    if not added.target:
        return source, source
    return source, tokenizer_names | _names(tokenizer, added.target, added.target_categories)


def _own_names(tokenizer: Any) -> Names:
    """Return the tokenizer's names of the special tokens that begin and end a text."""
    named = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {category: str(token) for category, token in named.items() if token}


def _names(tokenizer: Any, ids: Sequence[int], categories: Sequence[int]) -> Names:
    names_by_category: dict[str, list[str]] = {}
    for token, category in zip(tokenizer.convert_ids_to_tokens(list(ids)), categories, strict=True):
        names = names_by_category.setdefault(CATEGORIES[category], [])
        if token not in names:
            names.append(str(token))
    return {category: " and ".join(names) for category, names in names_by_category.items()}
