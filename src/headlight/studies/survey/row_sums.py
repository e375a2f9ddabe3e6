"""Sums of the rows of a layer: requests and results.

All statistics of cells in the survey are made of these sums.  They have two producers, the kernel
in which attention is computed (`kernel_sums`) and loops or products over written cells
(`cell_sums`), and the observers of the survey receive only the sums.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.pool import Pairs
from headlight.reduce.accumulator import Array
from headlight.vocabulary import CATEGORIES

WHOLE = len(CATEGORIES)
"""Place of the column of all keys among the requested columns."""


@dataclass(frozen=True, eq=False)
class Links:
    """Keys among which the largest entry of each row is requested, for some texts of a batch.

    Attributes:
        texts: Indices of these texts in the batch.
        keys: Keys that count.
    """

    texts: Int64[Tensor, " linked"]
    keys: Bool[Tensor, "linked key"]

    @cached_property
    def barred(self) -> Float[Tensor, "linked key"]:
        """Return −∞ at the keys that do not count, 0 at the others."""
        return torch.zeros_like(self.keys, dtype=torch.float32).masked_fill(~self.keys, -torch.inf)


@dataclass(frozen=True, eq=False)
class PairLists:
    """Lists of pairs of queries and keys, for some queries of every text of a batch.

    Attributes:
        lists: Pairs on the host, ordered by text and query; those of copies are the last ones.
        copies: Number of lists of copies, for which only a key that gets as much as any counts.
        texts: Number of texts.
        queries: Range of the queries.
    """

    lists: Sequence[Pairs]
    copies: int
    texts: int
    queries: slice

    @cached_property
    def by_row(self) -> tuple[Array, Array]:
        """Return the beginnings of the keys of each list and row, and all keys, list after list."""
        width = self.queries.stop - self.queries.start
        bounds = np.zeros((len(self.lists), self.texts * width + 1), dtype=np.int64)
        begin = 0
        for number, pairs in enumerate(self.lists):
            row = (pairs.text * width + pairs.query - self.queries.start).numpy()
            bounds[number, 1:] = np.cumsum(np.bincount(row, minlength=self.texts * width))
            bounds[number] += begin
            begin += len(row)
        keys = [pairs.key.numpy() for pairs in self.lists]
        return bounds, np.concatenate([np.zeros(0, np.int64), *keys])

    @cached_property
    def joined(self) -> Int64[Tensor, "5 pair"]:
        """Return text, query in the range, key, row of the sum, and 1 for a copy, of each pair."""
        width, lists = self.queries.stop - self.queries.start, len(self.lists)
        sizes = torch.tensor([len(pairs.key) for pairs in self.lists], dtype=torch.int64)
        number = torch.repeat_interleave(sizes)
        text, query, key = (
            torch.cat([number[:0], *(getattr(pairs, side) for pairs in self.lists)])
            for side in Pairs._fields
        )
        query = query - self.queries.start
        row = (text * width + query) * lists + number
        return torch.stack([text, query, key, row, (number >= lists - self.copies).long()])


@dataclass(frozen=True, eq=False)
class Asked:
    """Sums requested of the rows of a batch, the same for all layers and measures.

    Attributes:
        columns: Sets of keys whose sums are requested, 1 for a key that belongs to a set: those of
            each category, then `WHOLE`, all keys, then others, and last the first token.
        offsets: Offsets of the neighbours.
        present: Queries that are no padding.
        pairs: Function of a range of queries and the number of keys that they see, which returns
            the requested pairs of single cells.
        links: Keys among which the largest entry of each row is requested; None for none.
    """

    columns: Float[Tensor, "batch key column"]
    offsets: tuple[int, ...]
    present: Bool[Tensor, "batch query"]
    pairs: Callable[[slice, int], PairLists]
    links: Links | None = None

    @property
    def keys(self) -> int:
        """Return the number of keys of the whole text."""
        return self.columns.shape[1]


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums of the rows of some queries of a layer, with the heads of its measures concatenated.

    Attributes:
        heads: Places of the heads of each measure.
        columns: Sums over the keys of each column of `Asked`.
        neighbours: Value at the key at each offset; NaN where the text has no such key.
        entropy: Entropy of the absolute values; 0 for a row of zeros.
        size: Sum of the absolute values.
        total: Sum of the values.
        square: Sum of the squares.
        counted: 1 for rows that count: not those of padding, nor, where a measure is no share,
            those that give nothing.
        whole: Total of a row that counts, which is 1 for a share; 0 for other rows.
        factor: Factor that turns a row that counts into a share; 0 for other rows.
        pairs: Sums over the keys of each list of pairs; for copies 1 where such a key gets as much
            as any key, else 0.
        linked: Largest entry among the keys of `Links`; −∞ where the row has none of them. Without
            links, the axis of texts is empty.
        received: Amount that each key receives from the rows that count, as shares of their totals.
        diagonal: Sums over the rows that count of the values at each offset of the key from the
            query, from ``1 - keys`` to ``keys - 1``.
    """

    heads: Mapping[str, slice]
    columns: Float[Tensor, "batch head query column"]
    neighbours: Float[Tensor, "batch head query offset"]
    entropy: Float[Tensor, "batch head query"]
    size: Float[Tensor, "batch head query"]
    total: Float[Tensor, "batch head query"]
    square: Float[Tensor, "batch head query"]
    counted: Float[Tensor, "batch head query"]
    whole: Float[Tensor, "batch head query"]
    factor: Float[Tensor, "batch head query"]
    pairs: Float[Tensor, "batch head query list"]
    linked: Float[Tensor, "linked head query"]
    received: Float[Tensor, "batch head key"]
    diagonal: Float[Tensor, "batch head place"]
