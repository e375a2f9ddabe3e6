"""Sums of rows by compiled loops: the arrays that these take, and the reading of their results."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.measures.attention_kernel import BARRED
from headlight.measures.row_loops import KernelArrays, Keys, Listed
from headlight.pool import Beside
from headlight.studies.survey.row_sums import WHOLE, Asked, RowSums
from headlight.vocabulary import measure


class CompiledSums:
    """Requested sums of the rows of a batch, in the form of compiled loops.

    Args:
        asked: Sums requested of the rows of the batch.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._beside_by: dict[tuple[int, int, int], Tensor] = {}

    @cached_property
    def keys(self) -> Keys:
        """Return the arrays that describe keys."""
        asked = self._asked
        # Loops take no None: no text is linked where its number is -1.
        linked, barred = np.full(len(asked.columns), -1), np.zeros((0, asked.keys), np.float32)
        if asked.links is not None:
            linked[asked.links.texts.numpy()] = np.arange(len(asked.links.texts))
            barred = np.where(asked.links.keys.numpy(), np.float32(0), BARRED)
        return Keys(
            columns=asked.columns.contiguous().numpy(),
            offsets=np.array(asked.offsets, dtype=np.int64),
            present=asked.present.numpy().astype(np.uint8),
            barred=barred,
            linked=linked,
        )

    def listed(self, queries: slice, keys: int) -> Listed:
        """Return the keys that are listed for some queries.

        Args:
            queries: Range of the queries.
            keys: Number of keys that they see.
        """
        pairs = self._asked.pairs(queries, keys)
        return Listed(*pairs.by_row, pairs.copies)

    def row_sums(
        self, arrays: KernelArrays, heads: Mapping[str, slice], first: int, keys: int
    ) -> RowSums:
        """Return the sums of rows that loops have computed.

        Args:
            arrays: Arrays that the loops have filled.
            heads: Places of the heads of each measure.
            first: Number of the first query.
            keys: Number of keys that the queries see.
        """
        rows, columns = arrays.rows, torch.from_numpy(arrays.columns)
        queries = columns.shape[2]
        sizes = [places.stop - places.start for places in heads.values()]
        shares = torch.tensor([measure(name).share for name in heads])
        share = torch.repeat_interleave(shares, torch.tensor(sizes))[:, None]
        present = self._asked.present[:, None, first : first + queries]
        # `WHOLE` is the column of all keys, which loops sum along with the others.
        total = columns[..., WHOLE]
        counted = (present & (share | (total > 0))).to(total)
        whole = torch.where(share, counted, total * counted)
        linked, diagonal = torch.from_numpy(arrays.linked), rows.diagonal.sum(0)
        places = 2 * self._asked.keys - 1
        if diagonal.shape[2] != places:  # between two texts there are no diagonals
            diagonal = np.zeros((*diagonal.shape[:2], places))
        return RowSums(
            heads=heads,
            columns=columns,
            neighbours=torch.from_numpy(arrays.neighbours)
            * self._mark_neighbours(first, queries, keys),
            entropy=torch.from_numpy(rows.entropy),
            size=torch.from_numpy(rows.size),
            total=total,
            square=torch.from_numpy(rows.square),
            counted=counted,
            whole=whole,
            factor=(counted / whole).where(whole > 0, 0),
            pairs=torch.from_numpy(rows.pairs),
            # The loops bar keys by a large finite number, which is −∞ everywhere else.
            linked=linked.masked_fill(linked <= float(BARRED) / 2, -torch.inf),
            received=torch.from_numpy(rows.received.sum(0)),
            diagonal=torch.from_numpy(diagonal),
        )

    def _mark_neighbours(
        self, first: int, queries: int, keys: int
    ) -> Float[Tensor, "query offset"]:
        """Return 1 where a query has such a neighbour, else NaN."""
        form = first, queries, keys
        if form not in self._beside_by:
            asked = self._asked
            self._beside_by[form] = Beside.from_offsets(asked.offsets, *form, asked.keys).factor
        return self._beside_by[form]
