"""Sums of the rows of a layer: what is asked of them, and what they say.

Everything that the survey counts of cells is made of these sums.  They have two producers, the
kernel in which attention is computed (`kernel_sums`) and loops or products over cells that were
written (`cell_sums`), and every observer of the survey is shown only them.
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
"""Place of all keys among the columns that are asked for."""


@dataclass(frozen=True, eq=False)
class Links:
    """Keys among which the largest entry of each row is wanted, of some texts of a batch.

    Attributes:
        texts: Places of these texts in the batch.
        keys: Keys that count.
    """

    texts: Int64[Tensor, " linked"]
    keys: Bool[Tensor, "linked key"]

    @cached_property
    def barred(self) -> Float[Tensor, "linked key"]:
        """−∞ at the keys that do not count, 0 at the others."""
        return torch.zeros_like(self.keys, dtype=torch.float32).masked_fill(~self.keys, -torch.inf)


@dataclass(frozen=True, eq=False)
class PairLists:
    """Lists of pairs of queries and keys, for some queries of every text of a batch.

    Attributes:
        lists: Pairs on the host, ordered by text and query; those of copies are the last ones.
        copies: Number of lists of copies, of which it is asked whether a key gets as much as any.
        texts: Number of texts.
        queries: Range of the queries.
    """

    lists: Sequence[Pairs]
    copies: int
    texts: int
    queries: slice

    @cached_property
    def by_row(self) -> tuple[Array, Array]:
        """Where the keys of each list and row begin, and all keys, list after list."""
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
        """Text, query of the range, key, row that a pair is added to, and 1 for a copy."""
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
    """What is asked of the rows of a batch, the same for all layers and measures.

    Attributes:
        columns: Sets of keys whose sums are wanted, 1 for a key that belongs to one: those of each
            category, then `WHOLE`, all keys, then others, and last the first token.
        offsets: Offsets of the neighbours.
        present: Queries that are no padding.
        pairs: Function of a range of queries and the number of keys that they see, which returns
            the pairs of single cells that are wanted.
        links: Keys among which the largest entry of each row is wanted; None for none.
    """

    columns: Float[Tensor, "batch key column"]
    offsets: tuple[int, ...]
    present: Bool[Tensor, "batch query"]
    pairs: Callable[[slice, int], PairLists]
    links: Links | None = None

    @property
    def keys(self) -> int:
        """Number of keys of the whole text."""
        return self.columns.shape[1]


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums of the rows of some queries of a layer, the heads of its measures one after the other.

    Attributes:
        heads: Places of the heads of each measure.
        columns: What goes to the keys of each column of `Asked`.
        neighbours: What goes to the key at each offset; NaN where the text has no such key.
        entropy: Entropy of the absolute values; 0 of a row of zeros.
        size: Sum of the absolute values.
        total: Sum.
        square: Sum of the squares.
        counted: 1 for rows that count: not those of padding, nor, where a measure is no share,
            those that give nothing.
        whole: What a row that counts gives in all: 1 of a share; 0 of the others.
        factor: Number by which a row that counts becomes a share; 0 of the others.
        pairs: What goes to the keys of each list of pairs; of copies 1 where such a key gets as
            much as any key, else 0.
        linked: Largest entry among the keys of `Links`, −∞ where it has none in the row; of no
            texts where no links are wanted.
        received: What each key receives from the rows that count, as shares of what they give.
        diagonal: What goes to the keys at each offset from the query, from ``1 - keys`` to
            ``keys - 1``, of the rows that count.
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
