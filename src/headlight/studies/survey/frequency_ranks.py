"""Frequency of the types of tokens: ranks from a file, from the corpus, or from token ids."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight.corpora.tables import number
from headlight.encode.token_categories import CLS, PUNCTUATION, SEP, Categories
from headlight.errors import CorpusError, UsageError
from headlight.files import read

FIRST = (PUNCTUATION, SEP, CLS)
"""Categories that the paper takes as the most frequent types, in this order."""


@dataclass(frozen=True, eq=False)
class FrequencyRanks:
    """Frequency rank of every type of token, 1 for the most frequent.

    Types that occur equally often share the smallest of their ranks, as in the ranks of the
    authors' code ("competition ranking").

    With the exclusions of the ``paper`` (Kobayashi et al. 2020, footnote 5) special tokens and
    single characters have no rank, and commas, periods, the separator and the class token come
    before all others; the others are ranked again behind them.  A continuing piece such as ``##s``
    is more than one character in the vocabulary, and is kept.

    Attributes:
        rank: Rank of each vocabulary id, at least 1; NaN for types that are left out.
        source: Source of the ranks, as reports show it.
        exclusions: Exclusions from the ranks, ``none`` or ``paper``.
    """

    rank: Float64[np.ndarray, " type"]
    source: str
    exclusions: str = "none"

    @staticmethod
    def read(path: Path | str, tokenizer: Any) -> "FrequencyRanks":
        """Read ranks from a file with lines ``rank count id``, as the authors published them.

        Types that are not in the file share the rank after the last, as in the authors' code.

        Raises:
            CorpusError: the file cannot be read, or a line is something else.
            UsageError: an id is not one of this tokenizer.
        """
        lines = _lines(Path(path), len(tokenizer))
        if not lines:
            raise CorpusError(f"{path} holds no ranks; give a file with lines 'rank count id'.")
        rank = np.full(len(tokenizer), max(rank for rank, _ in lines) + 1.0)
        for rank_given, token in lines:
            rank[token] = rank_given
        return FrequencyRanks(rank, str(path))

    @staticmethod
    def of_ids(tokenizer: Any) -> "FrequencyRanks":
        """Rank types by id, which is the order of frequency in BERT's vocabulary (footnote 5).

        The same holds for vocabularies made by merging the most frequent pairs; for others the
        order means nothing.
        """
        categories = Categories.from_tokenizer(tokenizer).of_id
        types = sorted(categories)
        first = [token for category in FIRST for token in types if categories[token] == category]
        single = (token for piece, token in tokenizer.get_vocab().items() if len(piece) == 1)
        rank = np.full(len(tokenizer), np.nan)
        others = np.setdiff1d(
            np.arange(len(rank)), sorted({*tokenizer.all_special_ids, *single, *first})
        )
        rank[first] = np.arange(1, len(first) + 1)
        rank[others] = np.arange(1, len(others) + 1) + len(first)
        return FrequencyRanks(rank, "vocabulary ids", "paper")

    @staticmethod
    def of_counts(counts: Int64[np.ndarray, " type"]) -> "FrequencyRanks":
        """Rank types by their number of occurrences; equal types share the smallest rank."""
        _, place, equal = np.unique(-counts, return_inverse=True, return_counts=True)
        before = np.cumsum(equal) - equal
        return FrequencyRanks(before[place] + 1.0, "the corpus itself")

    def look_up(self, ids: Int64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
        """Return the ranks of tokens; NaN where a type is left out."""
        ranks: Float64[np.ndarray, "*shape"] = self.rank[ids]
        return ranks

    def settings(self) -> dict[str, str]:
        """Return the settings that must be equal for two runs to be parts of one."""
        digest = hashlib.sha256(np.asarray(self.rank, dtype="<f8").tobytes()).hexdigest()
        return {"source": self.source, "exclusions": self.exclusions, "digest": digest}


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Counts of every type in a corpus, and the mid-ranks of its occurrences.

    Attributes:
        ranks: Frequency ranks of the types, which may come from another corpus.
        counts: Number of occurrences of every type in this corpus.
    """

    ranks: FrequencyRanks
    counts: Int64[np.ndarray, " type"]

    @cached_property
    def twice_mid_rank(self) -> Int64[np.ndarray, " type"]:
        """Return twice the rank of each occurrence of a type, among all occurrences with a rank.

        Occurrences are ordered by the frequency rank of their type; those of one type, and of types
        of equal rank, are tied, and share the mean of their ranks.  0 for types without a rank.
        """
        included = np.flatnonzero(~np.isnan(self.ranks.rank))
        values, place = np.unique(self.ranks.rank[included], return_inverse=True)
        tied = np.bincount(place, self.counts[included], len(values)).astype(np.int64)
        doubled = np.zeros(len(self.counts), dtype=np.int64)
        doubled[included] = (2 * (np.cumsum(tied) - tied) + tied + 1)[place]
        return doubled

    @property
    def left_out(self) -> int:
        """Return the number of occurrences of types without a rank."""
        return int(self.counts[np.isnan(self.ranks.rank)].sum())

    def settings(self) -> dict[str, str]:
        """Return the settings that must be equal for two runs to be parts of one."""
        digest = hashlib.sha256(np.asarray(self.counts, dtype="<i8").tobytes()).hexdigest()
        return {**self.ranks.settings(), "counts": digest}


def _lines(path: Path, types: int) -> list[tuple[int, int]]:
    """Return the rank and the id of every line."""
    try:
        text = read(path, error=CorpusError).decode()
    except UnicodeDecodeError as problem:
        raise CorpusError(f"{path} is no UTF-8 text; give a file of ranks.") from problem
    return [
        _line(line, f"{path}:{number}", types)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]


def _line(line: str, place: str, types: int) -> tuple[int, int]:
    numbers = [number(column) for column in line.split()]
    if len(numbers) != 3 or None in numbers:
        raise CorpusError(
            f"{place}: three whole numbers are needed, 'rank count id', of nine digits at most."
        )
    rank, token = numbers[0] or 0, numbers[2] or 0
    if rank < 1:
        raise CorpusError(f"{place}: ranks begin with 1, and this one is {rank}.")
    if token >= types:
        raise UsageError(
            f"{place}: id {token} is beyond the tokenizer's {types} types; give ranks that were "
            "made for it."
        )
    return rank, token
