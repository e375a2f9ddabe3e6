"""What a survey looks at, layer by layer, while a batch runs through the model."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.positions import LENGTH_BIN, Positions, array, filled, moments, stacked
from headlight.capture import Kind, LayerRecord
from headlight.measures import Scores
from headlight.measures.effective_correlation import comoments, correlation
from headlight.measures.entropy import entropy_of_sizes
from headlight.pool import (
    Membership,
    membership,
    over_keys,
    over_neighbours,
    over_queries,
    with_all,
)
from headlight.reduce import Accumulator, Grouped, Moments, Ratio, Tally
from headlight.reduce.base import Array
from headlight.shapes import Score
from headlight.studies.heads.passages import PassageSeeker
from headlight.vocabulary import CATEGORIES, MEASURES, NEIGHBOURS, Measure, ValueBias, measure

OFFSETS = tuple(NEIGHBOURS.values())
QUERY_CATEGORIES = ("all", *CATEGORIES, "not_sep")
"""Whose queries are averaged; the last are all but the separators (Clark et al. 2019, Fig. 2)."""


class HeadsObserver:
    """Sees the attention of one batch; `tally` is what it saw."""

    def __init__(
        self,
        queries: Positions,
        keys: Positions,
        kind: Kind,
        value_bias: ValueBias = "include",
        measures: Sequence[str] = MEASURES,
        passages: PassageSeeker | None = None,
    ) -> None:
        self._kind = kind
        self._value_bias = value_bias
        self._measures = measures
        self._passages = passages if "weight" in measures else None
        self._keys = keys
        self._key_members = membership(keys.category, len(CATEGORIES))
        self._query_members = _query_members(queries)
        self._present = self._query_members[..., 0]
        self._key_lengths = keys.lengths
        self._seen: dict[int, dict[str, Tensor]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; nothing of it is kept but small summaries."""
        scores = Scores(record, self._value_bias, precision=torch.float32)
        looked = [self._look(scores.of(name).float(), measure(name)) for name in self._measures]
        heads = max(each["entropy"].shape[1] for each in looked)
        seen = self._seen.setdefault(record.site.layer, {})
        for name in ("total", "neighbour", "entropy"):
            rows = [filled(each[name], heads) for each in looked]  # attribution has one row
            seen[name] = torch.stack(rows, dim=1).movedim(2, 1)
        if self._passages is not None:
            of_weight = looked[self._measures.index("weight")]
            self._passages.look(record.site.layer, scores.of("weight").float(), of_weight)
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
        if sizes := [at for at, name in enumerate(self._measures) if not measure(name).share]:
            of_sizes = seen["total"][..., sizes, 0, :], seen["neighbour"][..., sizes, :]
            found["of_row"] = _of_row(*of_sizes)
        if self._passages is not None:
            found["passages"] = self._passages.tally()
        if sums is not None:
            found["correlation_by_head"] = moments(correlation(sums))
            found["correlation"] = self._by_length(correlation(np.nansum(sums, axis=(1, 2))))
        found["token_share"] = moments(array(self._tokens(self._key_members)))
        found["entropy_uniform"] = moments(np.log(array(self._key_lengths)))
        return Tally(found)

    def _look(self, score: Score, row: Measure) -> dict[str, Tensor]:
        """One measure; its entropy is that of its absolute values."""
        size = score.abs() if row.signed else score
        by_row = entropy_of_sizes(size)
        entropies = over_queries(by_row[..., None], self._query_members)
        if row.needs == "gradient":  # a query on which the loss does not depend has no entropy
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
            "rows": rows,
            "entropies": by_row,
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


def _of_row(total: Array, neighbour: Array) -> Ratio:
    """Categories, then neighbours, beside all that a row gives, for measures that are no shares."""
    parts = np.concatenate([total, neighbour], axis=-1)
    found = Ratio(parts.shape[1:])
    found.update(parts, np.broadcast_to(np.nansum(total, -1, keepdims=True), parts.shape))
    return found


def _query_members(queries: Positions) -> Membership:
    """Which queries are averaged for each of `QUERY_CATEGORIES`."""
    members = with_all(membership(queries.category, len(CATEGORIES)))
    sep = members[..., QUERY_CATEGORIES.index("sep")]
    return torch.cat([members, (members[..., 0] - sep)[..., None]], dim=-1)
