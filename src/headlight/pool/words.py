"""Pieces to words (Clark et al. 2019, Section 4.1)."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.encode.batch import NO_WORD, PADDED_WORD
from headlight.errors import UsageError
from headlight.settings import require_choice
from headlight.tensors import Score
from headlight.vocabulary import QueryPooling

NO_UNIT = -1

Rows = Float[Tensor, "batch head token kind"]
WordRows = Float[Tensor, "batch head word kind"]


@dataclass(frozen=True, eq=False)
class Words:
    """Words of a batch, and the tokens that are their pieces; made by `of`.

    What goes to a word is the sum of what goes to its pieces; what a word gives is the mean of what
    its pieces give, or one of the alternatives of `of`.  So rows of attention weights sum to 1
    again, special tokens included.  For attention between two texts see `WordPair`.

    Attributes:
        word: `Batch.word`, or `Batch.target_word`.
        unit: Number of the word of every token; -1 for padding, and for special tokens unless they
            are units of their own.
        special: Special tokens that are not units.
        width: Number of words in the text with most.
        queries: Way of joining what the pieces of a word give.
    """

    word: Int64[Tensor, "batch token"]
    unit: Int64[Tensor, "batch token"]
    special: Bool[Tensor, "batch token"]
    width: int
    queries: QueryPooling

    @classmethod
    def of(
        cls, word: Int64[Tensor, "batch token"], *, queries: str = "mean", special: bool = False
    ) -> "Words":
        """Return the words of a batch.

        Args:
            word: `Batch.word`, or `Batch.target_word`.
            queries: Way of joining what the pieces of an attending word give: their ``mean``, as in
                the paper; the ``first`` of them, which is what the authors' program does; or, for
                every key, the ``max``, scaled so that the row has the size of the mean row: weights
                then sum to 1, special tokens included.  For signed scores, sizes are absolute.
            special: Whether special tokens stay, as units of their own.  Units are then numbered
                in the order in which they stand in the text.  Otherwise what special tokens give
                and receive is dropped, and units are numbered as words are.

        Raises:
            UnknownNameError: `queries` is no `QueryPooling`.
        """
        require_choice("way of joining the queries of a word", queries, QueryPooling)
        unit = _number_units(word) if special else word.clamp_min(NO_UNIT)
        dropped = (word == NO_WORD) & (unit == NO_UNIT)
        return cls(word, unit, dropped, int(unit.max()) + 1, queries)  # type: ignore[arg-type]

    @cached_property
    def members(self) -> Float[Tensor, "batch word token"]:
        """Return 1 where a token is a piece of a word, else 0."""
        numbers = torch.arange(self.width, device=self.unit.device)
        return (self.unit[:, None] == numbers[:, None]).float()

    @cached_property
    def count(self) -> Int64[Tensor, "batch word"]:
        """Return the number of pieces of every word; 0 where a text has fewer words than others."""
        count: Tensor = self.members.sum(-1).long()
        return count

    @cached_property
    def present(self) -> Bool[Tensor, "batch word"]:
        """Return the mask of words."""
        return self.count > 0

    @cached_property
    def number(self) -> Int64[Tensor, "batch word"]:
        """Return the unit's number in its text; -1 for a special token, -2 for no unit.

        With special tokens as units of their own, this tells them from words.
        """
        numbers = self.word.gather(1, self._first)
        return numbers.masked_fill(~self.present, PADDED_WORD)

    def pool(self, score: Score) -> Float[Tensor, "batch head word other"]:
        """Return the score between words; 0 in the rows and columns of words that are not there.

        Raises:
            UsageError: The score is not between the tokens of this batch.
        """
        if self._block is None:
            return self.over_queries(self.over_keys(score), score)
        self._demand_fit(score.shape[2], "queries")
        self._demand_fit(score.shape[3], "keys")
        word_mask = self.present[:, None, :, None] & self.present[:, None, None]
        return score[:, :, self._block, self._block].masked_fill(~word_mask, 0)

    def over_keys(self, score: Score) -> Float[Tensor, "batch head query word"]:
        """Sum over the pieces of each word that is attended to.

        Raises:
            UsageError: The keys of the score are not the tokens of this batch.
        """
        self._demand_fit(score.shape[3], "keys")
        batch, heads, queries, _ = score.shape
        # One product per text, for all heads and queries together, and no copy for each head.
        rows = score.flatten(1, 2) @ self.members.mT.to(score.dtype)
        return rows.view(batch, heads, queries, self.width)

    def over_queries(self, rows: Rows, score: Score) -> WordRows:
        """Pool the rows of pieces into rows of words.

        Args:
            rows: One row for every token.
            score: Rows before keys were pooled: what goes to special tokens is part of the size to
                which ``max`` scales.

        Raises:
            UsageError: The queries of the score are not the tokens of this batch.
        """
        return self.joined(rows, score, self.special)

    def joined(self, rows: Rows, score: Score, special: Bool[Tensor, "batch key"]) -> WordRows:
        """Pool rows as `over_queries` does, where the keys are those of any text.

        Args:
            rows: One row for every token.
            score: Rows before keys were pooled.
            special: Special tokens among the keys that are not units.

        Raises:
            UsageError: The queries of the score are not the tokens of this batch.
        """
        self._demand_fit(rows.shape[2], "queries")
        if self.queries == "first":
            return self._first_rows(rows)
        if self.queries == "mean":
            return self._mean_rows(rows)
        return self._largest_rows(rows, score * special[:, None, None])

    @cached_property
    def _block(self) -> slice | None:
        """Return the block of words, if each is one piece at the same place in all texts."""
        pieces = self.unit >= 0
        start = int(pieces.any(0).int().argmax())
        block = slice(start, start + self.width)
        numbers = torch.arange(self.width, device=self.unit.device)
        units = self.unit[:, block]
        if units.shape[1] < self.width or not torch.equal(pieces.sum(), (units == numbers).sum()):
            return None
        return block

    @cached_property
    def _first(self) -> Int64[Tensor, "batch word"]:
        # Anything where there is no word; `present` tells.
        return self.members.argmax(-1)

    def _first_rows(self, rows: Rows) -> WordRows:
        batch, heads, tokens, kinds = rows.shape
        starts = torch.arange(batch * heads, device=rows.device).view(batch, heads, 1) * tokens
        places = (starts + self._first[:, None]).flatten()
        picked = rows.reshape(batch * heads * tokens, kinds).index_select(0, places)
        picked = picked.view(batch, heads, self.width, kinds)
        return picked.masked_fill_(~self.present[:, None, :, None], 0)

    def _mean_rows(self, rows: Rows) -> WordRows:
        shares = self.members.to(rows.dtype) / self.count[..., None].clamp_min(1)
        means: Tensor = shares[:, None] @ rows
        return means

    def _largest_rows(self, rows: Rows, rest: Score) -> WordRows:
        largest = self._maximum(rows)
        size = largest.abs().sum(-1) + self._maximum(rest).abs().sum(-1)
        wanted = self._mean_rows((rows.abs().sum(-1) + rest.abs().sum(-1))[..., None])
        return largest * (wanted[..., 0] / size.where(size > 0, 1))[..., None]

    def _maximum(self, rows: Rows) -> WordRows:
        """Return the largest entry over the pieces of each word, for every column."""
        batch, heads, _, kinds = rows.shape
        bins = self.unit.where(self.unit >= 0, self.width)  # the last bin is for tokens of no word
        maxima = rows.new_zeros(batch, heads, self.width + 1, kinds)
        place = bins[:, None, :, None].expand_as(rows)
        return maxima.scatter_reduce_(2, place, rows, "amax", include_self=False)[:, :, :-1]

    def _demand_fit(self, size: int, side: str) -> None:
        tokens = self.unit.shape[1]
        if size != tokens:
            raise UsageError(
                f"these scores have {size} {side}, and the words are of {tokens} tokens; give the "
                "words of that very text, and for attention between two texts a WordPair."
            )


@dataclass(frozen=True, eq=False)
class WordPair:
    """Words of two texts, of which the first attends to the second.

    ``WordPair(Words.of(batch.target_word), Words.of(batch.word, special=True))`` pools
    cross-attention: rows to words of the target, columns to words of the source, whose special
    tokens stay as columns of their own; `Words.number` of ``attended`` tells them from words.
    A pair pools as `Words` does, and can be used wherever these can.

    Attributes:
        attending: Words of the queries; they say how the pieces of an attending word are joined.
        attended: Words of the keys.
    """

    attending: Words
    attended: Words

    @property
    def members(self) -> Float[Tensor, "batch word token"]:
        """Return 1 where a key is a piece of an attended word, else 0."""
        return self.attended.members

    @property
    def count(self) -> Int64[Tensor, "batch word"]:
        """Return the number of pieces of every attended word."""
        return self.attended.count

    def pool(self, score: Score) -> Float[Tensor, "batch head word other"]:
        """Return the score between words; 0 in the rows and columns of words that are not there.

        Raises:
            UsageError: The score is not between the tokens of these texts.
        """
        return self.over_queries(self.over_keys(score), score)

    def over_keys(self, score: Score) -> Float[Tensor, "batch head query word"]:
        """Sum over the pieces of each word that is attended to; see `Words.over_keys`."""
        return self.attended.over_keys(score)

    def over_queries(self, rows: Rows, score: Score) -> WordRows:
        """Pool the rows of pieces into rows of words; see `Words.over_queries`."""
        return self.attending.joined(rows, score, self.attended.special)


def _number_units(word: Int64[Tensor, "batch token"]) -> Int64[Tensor, "batch token"]:
    """Return words and special tokens numbered as they stand; padding is -1."""
    before = torch.nn.functional.pad(word[:, :-1], (1, 0), value=NO_WORD)
    begins = (word >= NO_WORD) & ((word == NO_WORD) | (word != before))
    numbers = begins.long().cumsum(-1) - 1
    return numbers.where(word >= NO_WORD, NO_UNIT)
