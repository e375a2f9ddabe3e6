"""Pieces to examples, for one tokenizer."""

from dataclasses import dataclass, replace

from headlight.encode.categories import CLS, Categories
from headlight.encode.encoded import Encoded
from headlight.encode.pieces import Pieces, Tokenizer, require_fast
from headlight.encode.template import SPECIAL_WORD, Template
from headlight.errors import UsageError


@dataclass(frozen=True, slots=True)
class Assembly:
    """All that has to be known of a tokenizer to put examples together.

    Attributes:
        single: What it puts around one text.
        pair: What it puts around two texts.
        target: What it puts around a text for the decoder.
        categories: The categories of its vocabulary.
        decoder_start: The id with which the decoder begins; None if there is no decoder that
            takes a text of its own.
    """

    single: Template
    pair: Template
    target: Template
    categories: Categories
    decoder_start: int | None

    @classmethod
    def of(cls, tokenizer: Tokenizer, decoder_start: int | None = None) -> "Assembly":
        """Read off a fast tokenizer.

        Raises:
            UsageError: The tokenizer is a slow one.
        """
        require_fast(tokenizer)
        single = Template.of(tokenizer, pair=False)
        two_texts = decoder_start is None
        return cls(
            single=single,
            pair=Template.of(tokenizer, pair=True) if two_texts else single,
            target=single if two_texts else Template.of(tokenizer, pair=False, target=True),
            categories=Categories.of(tokenizer),
            decoder_start=decoder_start,
        )

    def without_segments(self) -> "Assembly":
        """The same, with all token type ids zero."""
        return replace(
            self,
            single=self.single.without_segments(),
            pair=self.pair.without_segments(),
        )

    @property
    def pair_size(self) -> int:
        """The number of special tokens in an example of two texts."""
        if self.decoder_start is None:
            return self.pair.size
        return self.single.size + self.target.size

    def room(self, max_length: int) -> int:
        """Pieces that fit beside the special tokens of one text.

        Raises:
            UsageError: None.
        """
        room = max_length - self.single.size
        if room < 1:
            raise UsageError(
                f"a length of {max_length} leaves no room for text beside "
                f"{self.single.size} special tokens; allow more."
            )
        return room

    def one(self, name: str, text: Pieces) -> Encoded:
        """An example of one text."""
        framed = self.single.framed(text)
        categories = self.categories.of_ids(framed.ids)
        return Encoded(name, framed.ids, framed.segments, categories, framed.words)

    def two(self, name: str, first: Pieces, second: Pieces) -> Encoded:
        """An example of two texts; with a decoder, the second is what the decoder is given."""
        if self.decoder_start is not None:
            return self._translated(name, first, second, self.decoder_start)
        framed = self.pair.framed(first, second)
        categories = self.categories.of_ids(framed.ids)
        return Encoded(name, framed.ids, framed.segments, categories, framed.words)

    def _translated(self, name: str, first: Pieces, second: Pieces, start: int) -> Encoded:
        # The decoder is given the labels moved by one place: while it reads token i it predicts
        # token i + 1, so that the last is never given.
        source, labels = self.single.framed(first), self.target.framed(second)
        return Encoded(
            name,
            source.ids,
            source.segments,
            self.categories.of_ids(source.ids),
            source.words,
            target=(start, *labels.ids[:-1]),
            target_categories=(CLS, *self.categories.of_ids(labels.ids)[:-1]),
            target_words=(SPECIAL_WORD, *labels.words[:-1]),
        )
