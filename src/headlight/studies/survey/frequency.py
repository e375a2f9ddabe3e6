"""Frequency of the types of tokens: ranks from a file, from the corpus, or from token ids."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headlight.corpora.trees import number
from headlight.encode.examples import CLS, PUNCTUATION, SEP, Categories
from headlight.errors import CorpusError, UsageError
from headlight.files import read
from headlight.reduce import Accumulator, Count, Tally

FIRST = (PUNCTUATION, SEP, CLS)
"""The categories that the paper takes to be the most frequent types, in this order."""


@dataclass(frozen=True, eq=False)
class FrequencyRanks:
    """The rank of every type of token, 1 for the most frequent one.

    Types that occur equally often share the smallest of their ranks, as in the ranks of the
    authors' code ("competition ranking").

    With the exclusions of the ``paper`` (Kobayashi et al. 2020, footnote 5) special tokens and
    single characters have no rank, and commas, periods, the separator and the class token come
    before all others; the others are ranked again behind them.  A continuing piece such as ``##s``
    is more than one character in the vocabulary, and is kept.

    Attributes:
        rank: of each vocabulary id, at least 1; NaN for types that are left out.
        source: where the ranks come from, as reports show it.
        exclusions: ``none`` or ``paper``.
    """

    rank: Float64[np.ndarray, " type"]
    source: str
    exclusions: str = "none"

    @staticmethod
    def read(path: Path | str, tokenizer: Any) -> "FrequencyRanks":
        """Ranks from a file with lines ``rank count id``, as the authors published them.

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
        """The order of the ids, which is that of frequency in BERT's vocabulary (footnote 5).

        So it is for vocabularies made by merging the most frequent pairs; for others it means
        nothing.
        """
        categories = Categories.of(tokenizer).of_id
        types = sorted(categories)
        first = [token for each in FIRST for token in types if categories[token] == each]
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
        """Return ranks by how often each type occurs; equal ones share the smallest rank."""
        _, place, equal = np.unique(-counts, return_inverse=True, return_counts=True)
        before = np.cumsum(equal) - equal
        return FrequencyRanks(before[place] + 1.0, "the corpus itself")

    def of(self, ids: Int64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
        """The ranks of tokens; NaN where a type is left out."""
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
        ranks: the frequency ranks of the types, which may be those of another corpus.
        counts: of every type in this corpus.
    """

    ranks: FrequencyRanks
    counts: Int64[np.ndarray, " type"]

    @cached_property
    def twice_mid_rank(self) -> Int64[np.ndarray, " type"]:
        """Twice the rank of each occurrence of a type, by frequency rank, among all that have one.

        Occurrences of one type, and of types of equal rank, are tied, and share the mean of their
        ranks; 0 for types without a rank.
        """
        included = np.flatnonzero(~np.isnan(self.ranks.rank))
        values, place = np.unique(self.ranks.rank[included], return_inverse=True)
        tied = np.bincount(place, self.counts[included], len(values)).astype(np.int64)
        doubled = np.zeros(len(self.counts), dtype=np.int64)
        doubled[included] = (2 * (np.cumsum(tied) - tied) + tied + 1)[place]
        return doubled

    @property
    def left_out(self) -> int:
        """Occurrences of types without a rank."""
        return int(self.counts[np.isnan(self.ranks.rank)].sum())

    def settings(self) -> dict[str, str]:
        """Return the settings that must be equal for two runs to be parts of one."""
        digest = hashlib.sha256(np.asarray(self.counts, dtype="<i8").tobytes()).hexdigest()
        return {**self.ranks.settings(), "counts": digest}


def _lines(path: Path, types: int) -> list[tuple[int, int]]:
    """Rank and id of every line."""
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


OCTAVE_BITS = 7
"""Base-2 logarithm of the number of bins of values to the octave."""
LOWEST, BINS = (127 - 30) << OCTAVE_BITS, 38 << OCTAVE_BITS
"""The bin of 2^-30, which has all values below it too, and how many there are, to 2^8."""

Summary = Float64[np.ndarray, "*series"]


def counted(
    values: Float64[np.ndarray, "token *series"], twice_mid_rank: Int64[np.ndarray, " token"]
) -> tuple[Count, Count]:
    """Return how many values fall into each bin, and twice the sum of the ranks of their types.

    Whole numbers, so that it does not matter in which order they are added up.

    Args:
        values: at least 0; NaN where there is none.
        twice_mid_rank: of the type of each token, see `Occurrences`; 0 where it has none.
    """
    series = values.shape[1:]
    ranked = values[twice_mid_rank > 0].astype(np.float32)
    bins = np.clip((ranked.view(np.int32) >> (23 - OCTAVE_BITS)) - LOWEST, 0, BINS - 1)
    codes = bins + np.arange(math.prod(series)).reshape(series) * BINS
    valid = ~np.isnan(ranked)
    doubled = np.broadcast_to(
        twice_mid_rank[twice_mid_rank > 0].reshape(-1, *(1 for _ in series)), ranked.shape
    )
    shape = (*series, BINS)
    counts, ranks = Count(shape), Count(shape)
    size = counts.total.size
    counts.total += np.bincount(codes[valid], minlength=size).reshape(shape)
    ranks.total += np.bincount(codes[valid], doubled[valid], size).reshape(shape)
    return counts, ranks


def correlated(
    counts: Float64[np.ndarray, "*series bin"],
    ranks: Float64[np.ndarray, "*series bin"],
    occurrences: Occurrences,
) -> dict[str, Summary]:
    """Return ρ and of how many occurrences it is.

    The ranks of types are exact; values of one bin, which differ by 0.5%, share the mean of their
    ranks.  The error of ρ is below 0.001 on trained models, but for almost constant values.

    Args:
        counts: values in each bin.
        ranks: twice the sum of their types' ranks.
        occurrences: of the types.

    Returns:
        ``count`` and ``correlation`` (NaN where one side is constant).
    """
    count = counts.sum(-1)
    middle = (count + 1)[..., None] / 2
    rank = np.cumsum(counts, axis=-1) - counts + (counts + 1) / 2 - middle
    types = ranks / 2 - counts * middle  # Σ of the deviations of the ranks of types, bin by bin
    spread = np.sqrt((rank * rank * counts).sum(-1)) * np.sqrt(_variance_of_types(occurrences))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (rank * types).sum(-1) / spread
    return {"count": count, "correlation": np.clip(correlation, -1, 1)}


def _variance_of_types(occurrences: Occurrences) -> float:
    """Σ of the squared deviations of the ranks of types, over all occurrences that have one."""
    ranked = occurrences.twice_mid_rank > 0
    counts = occurrences.counts[ranked].astype(np.float64)
    middle = (counts.sum() + 1) / 2
    return float((counts * (occurrences.twice_mid_rank[ranked] / 2 - middle) ** 2).sum())


Values = Float64[np.ndarray, "token layer head"]
CORRELATIONS = ("frequency", "frequency_by_head")
"""Over all heads, and by head."""


def seen_with(
    twice_mid_rank: Int64[np.ndarray, " token"], weight: Values, norm: Values
) -> Mapping[str, Accumulator]:
    """α received and ‖f(x)‖ against the frequency of types: over all heads, and by head.

    Each occurrence of a token is one observation.  Over all heads it is the mean of its values in
    these that is ranked (Kobayashi et al. 2020, Section 4.3).

    Args:
        twice_mid_rank: see `Occurrences`; 0 for types without a rank.
        weight: the mean over the queries that can see the token of α; NaN for heads that a layer
            does not have.
        norm: ‖f(x)‖, the same.
    """
    by_head = np.stack([weight, norm], axis=-1)
    values = {"frequency": np.nanmean(by_head, axis=(1, 2)), "frequency_by_head": by_head}
    members: dict[str, Accumulator] = {}
    for name, rows in values.items():
        counts_seen, ranks = counted(rows, twice_mid_rank)
        members |= {f"{name}_seen": counts_seen, f"{name}_ranks": ranks}
    return members


def correlations(tally: Tally, occurrences: Occurrences) -> dict[str, dict[str, Any]]:
    """Spearman's ρ and its count, by name; the last axis is the quantity."""
    return {
        name: correlated(
            tally[f"{name}_seen"].compute()["total"],
            tally[f"{name}_ranks"].compute()["total"],
            occurrences,
        )
        for name in CORRELATIONS
    }
