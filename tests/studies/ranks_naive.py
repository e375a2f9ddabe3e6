"""Ranks of a survey by their definition: one document at a time, loops, float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

import definitions
from headlight.encode import Encoded
from headlight.encode.texts import count_types
from headlight.studies.survey.frequency_ranks import FrequencyRanks
from headlight.studies.survey.sink_tokens import SINK, Sinks
from studies.naive import Layer, layers_of

Array = NDArray[np.float64]


class Study:
    """All pairs and occurrences of a corpus, in memory."""

    def __init__(
        self,
        made: Any,
        family: str,
        kind: str,
        examples: Sequence[Encoded],
        rank: Array,
        sinks: Sinks | None = None,
        heads: Sequence[int] = (4, 4),
    ) -> None:
        self.categories, self.heads = 4 if sinks is None else 5, heads
        self.pairs: dict[tuple[int, int, int], list[tuple[float, float]]] = {}
        self.totals: dict[str, list[Array]] = {"weight": [], "weighted_norm": [], "norm": []}
        self.occurrences: list[tuple[float, Array, Array]] = []
        self.lengths: list[Array] = []
        self.tokens = np.zeros(self.categories)
        for example in examples:
            decoder = kind == "decoder" and bool(example.target)
            ids = example.target if decoder else example.ids
            categories = list(example.target_categories if decoder else example.categories)
            if sinks:
                categories = moved(categories, ids, sinks)
            layers = layers_of(made, family, kind, example, range(len(heads)))
            self._see(layers, categories, [rank[token] for token in ids])

    def _see(self, layers: list[Layer], categories: list[int], ranks: list[float]) -> None:
        shape = (len(layers), max(self.heads))
        totals = {name: np.full((*shape, self.categories), np.nan) for name in self.totals}
        received, norms = (np.full((len(categories), *shape), np.nan) for _ in range(2))
        for number, layer in enumerate(layers):
            length = definitions.vector_norm(layer.value, layer.output)
            self.lengths.append(np.linalg.norm(layer.input, axis=-1))
            for head, weight in enumerate(layer.weight):
                norms[:, number, head] = length[head]
                for key, category in enumerate(categories):
                    queries = np.flatnonzero(layer.visible[:, key])
                    received[key, number, head] = np.mean(weight[queries, key])
                    self.pairs.setdefault((number, head, category), []).extend(
                        (weight[query, key], length[head, key]) for query in queries
                    )
                for category in range(self.categories):
                    chosen = [key for key, each in enumerate(categories) if each == category]
                    place = number, head, category
                    columns = weight[:, chosen]
                    totals["weight"][place] = columns.sum(1).mean()
                    totals["weighted_norm"][place] = (columns * length[head, chosen]).sum(1).mean()
                    if chosen:
                        totals["norm"][place] = length[head, chosen].mean()
        for name, found in totals.items():
            self.totals[name].append(found)
        self.occurrences += zip(ranks, received, norms, strict=True)
        for category in categories:
            self.tokens[category] += 1

    def correlation(self, layer: int | None, head: int | None, category: int) -> tuple[float, int]:
        """Spearman's ρ of all pairs that are of this place, and their number."""
        chosen = [
            pair
            for (at_layer, at_head, at_category), pairs in self.pairs.items()
            if at_category == category and layer in (None, at_layer) and head in (None, at_head)
            for pair in pairs
        ]
        return spearman(chosen), len(chosen)

    def frequency(self, quantity: int, layer: int | None, head: int | None) -> float:
        """Spearman's ρ between rank and weight (0) or norm (1)."""
        pairs = []
        for each in self.occurrences:
            values = each[1 + quantity]
            values = values if layer is None else values[layer]
            value = np.nanmean(values) if head is None else values[head]
            if not np.isnan(each[0]):
                pairs.append((each[0], value))
        return spearman(pairs)


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    """ρ, ties by mid-ranks, of what float32 holds of the pairs; NaN if one side is constant."""
    columns = np.array(pairs, dtype=np.float32).reshape(-1, 2).astype(np.float64)
    if len(columns) < 2 or (columns == columns[0]).all(axis=0).any():
        return float("nan")
    return float(spearmanr(*columns.T).statistic)


def moved(categories: list[int], ids: Sequence[int], sinks: Sinks) -> list[int]:
    """The categories, with sinks in one of their own."""
    types = {each.id for each in sinks.tokens}
    return [
        SINK
        if category not in sinks.kept and (ids[key] in types or (sinks.first and key == 0))
        else category
        for key, category in enumerate(categories)
    ]


def ranks_of_corpus(
    examples: Sequence[Encoded], tokenizer: Any, *, target: bool = False
) -> FrequencyRanks:
    """Ranks by the examples themselves, special tokens included."""
    counts = count_types(examples, len(tokenizer), target=target)
    return FrequencyRanks.of_counts(counts)
