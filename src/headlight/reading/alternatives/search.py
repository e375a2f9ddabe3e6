"""The alternatives of one head on one text, row by row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float64, Int64

from headlight.capture import LayerRecord
from headlight.errors import UsageError
from headlight.measures import Scores
from headlight.measures.alternatives import (
    SMALLEST,
    Matrix,
    Row,
    RowAlternatives,
    column_basis,
    total_variation,
)
from headlight.measures.null_space import with_ones
from headlight.settings.alternatives import AlternativeSettings

Map = Float64[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What was found for one head, as arrays.

    Attributes:
        original: the head's own attention.
        attention: the alternatives.
        asked: whether a row was looked at.
        exists: whether it has any.
        bound: what the total variation of no alternative of a row exceeds; NaN if not asked for.
        rank: of T, on the keys that a query sees.
        rank_with_ones: of [T, 1].
        keys: how many a query sees.
    """

    original: Map
    attention: Float64[np.ndarray, "alternative query key"]
    asked: Bool[np.ndarray, " query"]
    exists: Bool[np.ndarray, " query"]
    bound: Float64[np.ndarray, " query"]
    rank: Int64[np.ndarray, " query"]
    rank_with_ones: Int64[np.ndarray, " query"]
    keys: Int64[np.ndarray, " query"]


class Search:
    """Looks for the alternatives of one head on one text.

    Raises:
        UsageError: a row is asked for that there is not.
    """

    def __init__(self, record: LayerRecord, head: int, settings: AlternativeSettings) -> None:
        scores = Scores(record)
        self._original: Map = record.weight[0, head].cpu().double().numpy()
        self._columns: Matrix = with_ones(scores.transformed)[0, head].cpu().numpy()
        self._width = record.site.projection.weight.shape[2] + 1
        self._settings = settings
        self._bases: dict[bytes, Matrix] = {}
        self._head = head
        self._scores = scores
        queries = len(self._original)
        asked = range(queries) if settings.queries is None else settings.queries
        for query in asked:
            if not 0 <= query < queries:
                raise UsageError(
                    f"there is no query {query}: the positions of this text are 0 to {queries - 1}."
                )
        self._asked = frozenset(asked)

    def run(self, n: int) -> SearchResult:
        """`n` alternatives, or none if no row has any."""
        original = self._original
        attention = np.repeat(original[None], n, axis=0)
        exists = np.zeros(len(original), dtype=bool)
        bound = np.full(len(original), np.nan)
        for query in sorted(self._asked):
            seen = self._visible[query]
            row = RowAlternatives(original[query, seen], self._basis(seen))
            exists[query] = row.exist
            if row.exist:
                generator = np.random.default_rng([self._settings.seed, query])
                changed = row.row + self._changes(row, generator, n)
                attention[:, query, seen] = np.maximum(changed, 0.0)
            if self._settings.certify or self._settings.method == "farthest":
                bound[query] = row.bound(tight=self._settings.certify)
        spaces, queries = self._scores.null_spaces, len(original)
        return SearchResult(
            original=original,
            attention=attention if exists.any() else attention[:0],
            asked=np.isin(np.arange(queries), list(self._asked)),
            exists=exists,
            bound=bound,
            rank=np.broadcast_to(spaces.rank[0, self._head].cpu().numpy(), queries),
            rank_with_ones=np.broadcast_to(
                spaces.rank_with_ones[0, self._head].cpu().numpy(), queries
            ),
            keys=self._visible.sum(-1),
        )

    def _changes(
        self, row: RowAlternatives, generator: np.random.Generator, n: int
    ) -> Float64[np.ndarray, "alternative key"]:
        """As far as asked."""
        if self._settings.method == "random":
            changes = [row.random(generator) for _ in range(n)]
        else:
            changes = row.farthest(generator, max(self._settings.starts, n))[:n]
        return np.stack([self._share(change) * change for change in changes])

    def _share(self, change: Row) -> float:
        """Of the way to the end."""
        target = self._settings.total_variation
        if target is None:
            return self._settings.distance
        return min(1.0, target / max(total_variation(change), SMALLEST))

    @cached_property
    def _visible(self) -> Bool[np.ndarray, "query key"]:
        visible = self._scores.record.visible
        if visible is None:
            return np.ones(self._original.shape, dtype=bool)
        seen: Bool[np.ndarray, "query key"] = np.broadcast_to(
            visible[0].cpu().numpy(), self._original.shape
        )
        return seen

    def _basis(self, seen: Bool[np.ndarray, " key"]) -> Float64[np.ndarray, "seen column"]:
        """Of the columns of [T, 1] on the keys that are seen; most queries share theirs."""
        name = seen.tobytes()
        if name not in self._bases:
            self._bases = {name: column_basis(self._columns[seen], self._width)}
        return self._bases[name]
