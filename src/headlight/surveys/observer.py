"""What a survey looks at, layer by layer, while a batch runs through the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture import Kind, LayerRecord
from headlight.encode.batch import Batch
from headlight.measures import GRADIENT, MEASURES, Scores, ValueBias
from headlight.measures.entropy import entropy_of_sizes
from headlight.pool import (
    Membership,
    membership,
    over_keys,
    over_neighbours,
    over_queries,
    with_all,
)
from headlight.reduce import Accumulator, Grouped, Moments, Tally
from headlight.result import CATEGORIES
from headlight.shapes import Score
from headlight.surveys.raw_effective import comoments, correlation

OFFSETS = (-1, 0, 1)
QUERY_CATEGORIES = ("all", *CATEGORIES, "not_sep")
"""Whose queries are averaged; the last are all but the separators (Clark et al. 2019, Fig. 2)."""
LENGTH_BIN = 8
"""Documents of so many neighbouring lengths share a bin of the correlation by length."""


@dataclass(frozen=True, eq=False)
class Side:
    """The positions on one side of attention."""

    category: Int64[Tensor, "batch position"]
    lengths: Int64[Tensor, " batch"]

    @staticmethod
    def both(batch: Batch, kind: Kind) -> "tuple[Side, Side]":
        """Queries and keys: cross-attention looks from the decoder's text at the encoder's."""
        source = Side(batch.category, batch.lengths)
        if batch.target_category is None or batch.target_lengths is None or kind == "encoder":
            return source, source
        target = Side(batch.target_category, batch.target_lengths)
        return target, (source if kind == "cross" else target)


class Observer:
    """Sees the attention of one batch; `tally` is what it saw."""

    def __init__(
        self,
        queries: Side,
        keys: Side,
        kind: Kind,
        value_bias: ValueBias = "include",
        measures: Sequence[str] = MEASURES,
    ) -> None:
        self._kind = kind
        self._value_bias = value_bias
        self._measures = measures
        self._keys = keys
        self._key_members = membership(keys.category, len(CATEGORIES))
        self._query_members = _query_members(queries)
        self._present = self._query_members[..., 0]
        self._key_lengths = keys.lengths
        self._seen: dict[int, dict[str, Tensor]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; nothing of it is kept but small summaries."""
        scores = Scores(record, self._value_bias, precision=torch.float32)
        looked = [self._look(scores.of(name).float(), name) for name in self._measures]
        heads = max(each["entropy"].shape[1] for each in looked)
        seen = self._seen.setdefault(record.site.layer, {})
        for name in ("total", "neighbour", "entropy"):
            rows = [filled(each[name], heads) for each in looked]  # attribution has one row
            seen[name] = torch.stack(rows, dim=1).movedim(2, 1)
        if "norm" in self._measures:
            seen |= self._norms(scores)
        if "effective" in self._measures:
            seen["rank"] = scores.rank.amax(-1).double()
            seen["comoments"] = comoments(scores, self._present, self._key_lengths)

    def tally(self) -> Tally:
        """The statistics of the batch: documents along the first axis, or tokens for dispersion."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        seen = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        sums = seen.pop("comoments", None)
        found: dict[str, Accumulator] = {name: moments(rows) for name, rows in seen.items()}
        if sums is not None:
            found["correlation_by_head"] = moments(correlation(sums))
            found["correlation"] = self._by_length(correlation(np.nansum(sums, axis=(1, 2))))
        found["token_share"] = moments(array(self._tokens(self._key_members)))
        found["entropy_uniform"] = moments(np.log(array(self._key_lengths)))
        return Tally(found)

    def _look(self, score: Score, measure: str) -> dict[str, Tensor]:
        """One measure; its entropy is that of its absolute values."""
        size = score.abs() if measure == "effective" else score  # the others are never negative
        entropies = over_queries(entropy_of_sizes(size)[..., None], self._query_members)
        if measure == GRADIENT:  # a query on which the loss does not depend has no entropy
            some = (size.sum(-1, keepdim=True) > 0).to(size.dtype)
            entropies /= over_queries(some, self._query_members)
        rows = over_keys(score, self._key_members)
        offsets = (
            score.new_full((*score.shape[:2], len(OFFSETS)), torch.nan)
            if self._kind == "cross"
            else over_neighbours(score, self._present, OFFSETS)
        )
        return {
            "total": over_queries(rows, self._query_members),
            "neighbour": offsets,
            "entropy": entropies[..., 0],
        }

    def _norms(self, scores: Scores) -> dict[str, Tensor]:
        """What belongs to the norms alone; of x only where it was found."""
        merged = over_keys(scores.merged_norm[:, None], self._key_members)
        found = {
            "merged": over_queries(merged, self._query_members)[:, 0],
            "vector_norm": self._tokens(scores.vector_norm.transpose(1, 2)),
        }
        if scores.record.input is not None:
            found["input_norm"] = self._tokens(scores.input_norm)
        return found

    def _tokens(self, per_key: Float[Tensor, "batch key *rest"]) -> Float[Tensor, "token *rest"]:
        """The keys of all documents in one row, padding left out."""
        return per_key[self._keys.category >= 0]

    def _by_length(self, correlation: np.ndarray) -> Grouped:
        grouped = Grouped(Moments())
        lengths = array(self._key_lengths).astype(np.int64)
        grouped.update(lengths // LENGTH_BIN * LENGTH_BIN, correlation)
        return grouped


def _query_members(queries: Side) -> Membership:
    """Which queries are averaged for each of `QUERY_CATEGORIES`."""
    members = with_all(membership(queries.category, len(CATEGORIES)))
    sep = members[..., QUERY_CATEGORIES.index("sep")]
    return torch.cat([members, (members[..., 0] - sep)[..., None]], dim=-1)


def stacked(layers: list[Tensor]) -> np.ndarray:
    """Layers along the second axis; a layer with fewer heads is filled up with NaN."""
    widest = max(layer.shape[1] for layer in layers) if layers[0].ndim > 1 else 0
    rows = [filled(layer, widest) for layer in layers] if widest else layers
    return array(torch.stack(rows, dim=1))


def filled(rows: Tensor, heads: int) -> Tensor:
    """Heads along the second axis, filled up with NaN where there are fewer."""
    missing = heads - rows.shape[1]
    if not missing:
        return rows
    return torch.cat([rows, rows.new_full((len(rows), missing, *rows.shape[2:]), torch.nan)], dim=1)


def array(tensor: Tensor) -> np.ndarray:
    """In float64, where numpy can reach it."""
    tensor = tensor.cpu() if tensor.device.type == "mps" else tensor
    return tensor.double().cpu().numpy()


def moments(rows: np.ndarray) -> Moments:
    """The statistics of observations, one per row."""
    found = Moments(rows.shape[1:])
    found.update(rows)
    return found
