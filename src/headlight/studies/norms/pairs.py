"""Rank correlation of weights with the norms that they weigh, over all pairs of positions."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.capture import AttentionSite
from headlight.reduce import Accumulator, RankCorrelation

NOWHERE = -1
"""The entry of columns that are left out."""


class PairRanks:
    """Sees (α_ij, ‖f(x_j)‖) of all pairs of positions, but for padding and what cannot be seen.

    Args:
        texts: the positions of the batch.
        categories: how many categories there are.
        sites: the attention modules that will be seen.
    """

    def __init__(self, texts: Texts, categories: int, sites: Sequence[AttentionSite]) -> None:
        layers, heads = len(sites), max(site.heads for site in sites)
        self._queries = texts.queries
        self._padded = not bool(texts.queries.all())
        self._category = texts.category[:, None]
        self._row = {layer: row for row, layer in enumerate(sorted(site.layer for site in sites))}
        self._by_layer = RankCorrelation((layers, categories), resolution="fine")
        self._by_head = RankCorrelation((layers, heads, categories), resolution="coarse")

    def see(
        self,
        layer: int,
        weight: Float[Tensor, "batch head query key"],
        norm: Float[Tensor, "batch head key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> None:
        """See one layer; its weights are not kept."""
        columns = self._columns(weight, visible)
        lengths = norm.float().cpu().numpy()
        category = np.broadcast_to(self._category, lengths.shape)
        row, (_, most, categories) = self._row[layer], self._by_head.shape
        head = row * most + np.arange(lengths.shape[1])[:, None]

        def update(kept: RankCorrelation, entry: Int[np.ndarray, "#head 1"]) -> None:
            entries = np.where(category < 0, NOWHERE, entry * categories + category)
            kept.update_columns(columns, lengths.ravel(), entries.ravel())

        update(self._by_layer, np.full((1, 1), row))
        update(self._by_head, head)

    def found(self) -> Mapping[str, Accumulator]:
        """What was seen, by layer and category, and by layer, head and category."""
        return {"ranks_by_layer": self._by_layer, "ranks_by_head": self._by_head}

    def _columns(
        self,
        weight: Float[Tensor, "batch head query key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> Float32[np.ndarray, "column query"]:
        """What each key receives, key by key; NaN where there is no query, or it cannot see."""
        received = weight.float().transpose(2, 3)
        if self._padded or (visible is not None and visible.shape[1] > 1):
            there = self._queries[:, :, None]
            there = there if visible is None else there & visible
            received = received.masked_fill(~there.transpose(1, 2)[:, None], torch.nan)
        columns: Float32[np.ndarray, "column query"] = received.contiguous().cpu().numpy()
        return columns.reshape(-1, weight.shape[2])
