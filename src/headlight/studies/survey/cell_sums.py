"""Sums of the rows of written measures: by loops on a CPU, and by matrix products elsewhere.

On a CPU all sums of a row are made while it is in the cache.  On a device all measures of a layer
go through the same few operations, since each operation costs as much as some thousand cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from headlight.measures.attention_kernel import sum_written
from headlight.measures.entropy import entropy_of_sizes
from headlight.pool import Beside, offsets_of, over_offsets
from headlight.studies.survey.compiled_sums import CompiledSums
from headlight.studies.survey.row_sums import WHOLE, Asked, RowSums
from headlight.tensors import Score
from headlight.vocabulary import measure


class CellSums:
    """Producer of the sums of measures whose cells were written.

    Args:
        asked: Sums requested of the rows of the batch.
        compiled: Whether to use compiled loops, whose loading pays for many texts.
    """

    def __init__(self, asked: Asked, *, compiled: bool = True) -> None:
        self._asked = asked
        self._compiled, self._of_loops = compiled, CompiledSums(asked)
        self._constants: dict[tuple[Any, ...], _Constants] = {}

    def sums(self, measured: Mapping[str, Score], first: int) -> RowSums:
        """Return the sums of the rows of some queries.

        Args:
            measured: Measures of these queries, over the keys up to the last that any of them sees.
            first: Number of the first query.
        """
        heads = heads_of(measured)
        # Loops read float32 in host memory; any other precision or device takes the products.
        in_loops = self._compiled and all(
            score.device.type == "cpu" and score.dtype == torch.float32
            for score in measured.values()
        )
        if in_loops:
            return self._sum_in_loops(measured, heads, first)
        score = torch.cat([*measured.values()], 1).detach()
        queries, keys = score.shape[2:]
        # Masks and lists of pairs depend on the form alone, and are made once for all layers.
        asked, form = self._asked, (first, queries, keys, str(heads), score.dtype, score.device)
        if form not in self._constants:
            self._constants[form] = self._constants_of(heads, score, first)
        constants = self._constants[form]
        columns = score.flatten(1, 2) @ constants.columns
        columns = columns.view(*score.shape[:3], -1)
        total = columns[..., WHOLE]
        pairs = asked.pairs(slice(first, first + queries), keys)
        linked = score[:0, :, :, 0]
        if constants.linked is not None and constants.barred is not None:
            linked = (score[constants.linked] + constants.barred).amax(-1)
        counted = whole = factor = constants.present.expand_as(total)
        # Rows of a measure that is no share count only where they give something at all.
        if constants.share is not None:
            counted = counted * (constants.share | (total > 0))
            whole = torch.where(constants.share, 1, total) * counted
            factor = (counted / whole).where(whole > 0, 0)
        # Signed measures cancel in a plain sum, so that entropy is taken of sizes.
        signed = any(measure(name).signed for name in heads)
        return RowSums(
            heads=heads,
            columns=columns,
            neighbours=constants.beside.take(score),
            total=total,
            counted=counted,
            whole=whole,
            factor=factor,
            linked=linked,
            pairs=self._pairs(score, constants, len(pairs.lists), pairs.copies),
            received=self._received(factor, score),
            diagonal=over_offsets(score, counted)[..., constants.order],
            **self._sum_by_products(score.abs() if signed else score, score, total),
        )

    def _sum_in_loops(
        self, measured: Mapping[str, Score], heads: Mapping[str, slice], first: int
    ) -> RowSums:
        """Return the sums of rows of float32 on a CPU."""
        compiled, scores = self._of_loops, [*measured.values()]
        queries, keys = scores[0].shape[2:]
        listed = compiled.listed(slice(first, first + queries), keys)
        shares = [measure(name).share for name in measured]
        arrays = sum_written(scores, shares, first, WHOLE, compiled.keys, listed)
        return compiled.row_sums(arrays, heads, first, keys)

    def _sum_by_products(self, size: Score, score: Score, total: Tensor) -> dict[str, Tensor]:
        """Return the sums that take one operation each, on every device and in every precision."""
        return {
            "entropy": entropy_of_sizes(size),
            "size": total if size is score else size.sum(-1),
            "square": (score[..., None, :] @ score[..., None])[..., 0, 0],
        }

    def _received(self, factor: Tensor, score: Score) -> Float[Tensor, "batch head key"]:
        # A causal block sees no key behind its last query.
        received = (factor[:, :, None] @ score)[:, :, 0]
        missing = self._asked.keys - score.shape[3]
        return pad(received, (0, missing)) if missing else received

    def _pairs(
        self, score: Score, constants: "_Constants", lists: int, copies: int
    ) -> Float[Tensor, "batch head query list"]:
        """Return the sums over the keys of each list."""
        # A copy is the largest of its row, which needs the row's maximum rather than its sum.
        text, query, key, row, copy = constants.pairs
        values, largest = score[text, :, query, key], score.amax(3)[text, :, query]
        values = torch.where(copy, values >= largest, values)
        shape = *score.shape[:3:2], lists, score.shape[1]
        given = values.new_zeros(shape).flatten(0, 2).index_add_(0, row, values)
        given = given.view(shape).permute(0, 3, 1, 2)
        # Of copies, queries are counted, whatever amount they give.
        return torch.cat([given[..., : lists - copies], given[..., lists - copies :].sign()], -1)

    def _constants_of(self, heads: Mapping[str, slice], score: Score, first: int) -> "_Constants":
        """Return the tensors that layers of this form share."""
        asked, device, (queries, keys) = self._asked, score.device, score.shape[2:]
        rows = slice(first, first + queries)
        *pairs, copy = asked.pairs(rows, keys).joined.to(device).unbind(0)
        barred = linked = None
        if asked.links is not None:
            linked = asked.links.texts.to(device)
            barred = asked.links.barred[:, None, None, :keys].to(device, score.dtype)
        # Sums by offset are float64, which MPS lacks.
        home = torch.device("cpu") if device.type == "mps" else device
        all_shares = all(measure(name).share for name in heads)
        return _Constants(
            columns=asked.columns[:, :keys].to(score),
            present=asked.present[:, None, rows].to(score),
            share=None if all_shares else shares_of(heads).to(device),
            beside=Beside.from_offsets(asked.offsets, first, queries, keys, asked.keys).on(device),
            order=order_of_offsets(first, queries, keys, asked.keys).to(home),
            pairs=(*pairs, copy[:, None] > 0),
            linked=linked,
            barred=barred,
        )


@dataclass(frozen=True, eq=False)
class _Constants:
    """Tensors that the layers of a batch share, for queries, measures and heads of one form.

    Attributes:
        columns: Sets of keys of `Asked`.
        present: ``batch 1 query``; 1 for queries that are no padding.
        share: ``head 1``; heads whose measure is a share already; None where all are.
        beside: Neighbours of the queries.
        order: Place of each offset of the text among the sums of `over_offsets`.
        pairs: Text, query, key and row of each pair, and whether it is a copy.
        linked: Texts whose largest links are wanted; None for none.
        barred: −∞ at those of their keys that do not count, 0 at the others.
    """

    columns: Tensor
    present: Tensor
    share: Tensor | None
    beside: Beside
    order: Tensor
    pairs: tuple[Tensor, ...]
    linked: Tensor | None
    barred: Tensor | None


def order_of_offsets(first: int, queries: int, columns: int, keys: int) -> Tensor:
    """Return the place of each offset, from ``1 - keys`` on, among the sums of `over_offsets`.

    Offsets that no query of the block has are mapped to a place to which nothing is added.

    Args:
        first: Number of the first query.
        queries: Number of queries of the block.
        columns: Number of keys of the block.
        keys: Number of keys of the text.
    """
    places, exists = offsets_of(queries, columns)
    offsets = torch.arange(1 - keys, keys) + first
    by_offset = dict(zip(places[exists].tolist(), exists.nonzero()[:, 0].tolist(), strict=True))
    nowhere = int((~exists).nonzero()[0, 0])
    return torch.tensor([by_offset.get(offset, nowhere) for offset in offsets.tolist()])


def heads_of(measured: Mapping[str, Score]) -> dict[str, slice]:
    """Return the slice of heads of each measure, where measures are concatenated."""
    ends = np.cumsum([score.shape[1] for score in measured.values()]).tolist()
    places = pairwise([0, *ends])
    return {name: slice(*ends) for name, ends in zip(measured, places, strict=True)}


def shares_of(heads: Mapping[str, slice]) -> Tensor:
    """Return ``head 1``: whether the measure of a head is a share already."""
    sizes = torch.tensor([places.stop - places.start for places in heads.values()])
    is_share = torch.tensor([measure(name).share for name in heads])
    return torch.repeat_interleave(is_share, sizes)[:, None]
