"""Importance of each word of a text, by attention or by other numbers of its tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.encode import Encoded
from headlight.measures import Scores
from headlight.observations.layer_arrays import array

Words = frozenset[int]
"""The numbers of the words of a text that are removed."""

Importance = Float64[np.ndarray, " _"]
"""Importance of each word of a text; texts differ in length."""

PerToken = Float[Tensor, "batch token"]


class AttentionImportance:
    """Importance of each token of a batch by its attention, summed layer by layer for each measure.

    In each layer, absolute values of the measure are averaged over heads, and summed over rows to
    shares that add up to 1, so that layers count alike; then the mean over layers is taken.

    Args:
        rows: Mask of the rows that represent a text together; None for every row by itself.
        measures: Names of the measures.
    """

    def __init__(self, rows: Bool[Tensor, "batch query"] | None, measures: Sequence[str]) -> None:
        self._rows = rows
        self._measures = measures
        self._sums: dict[str, Float[Tensor, "batch *query key"]] = {}
        self._layers = 0

    def visit(self, record: LayerRecord) -> None:
        """Add the shares of one layer."""
        scores = Scores(record, precision=torch.float32)
        self._layers += 1
        for name in self._measures:
            size = scores.of(name).abs().mean(1)
            shares = share_of_rows(size, self._rows)
            self._sums[name] = self._sums.get(name, torch.zeros_like(shares)) + shares

    def means(self) -> dict[str, Float[Tensor, "batch *query key"]]:
        """Return the means over the layers."""
        return {name: sums / self._layers for name, sums in self._sums.items()}


def share_of_rows(
    size: Float[Tensor, "batch query key"], rows: Bool[Tensor, "batch query"] | None
) -> Float[Tensor, "batch *query key"]:
    """Return the shares that keys receive from these rows together; equal where all are 0.

    With None for the rows, return the shares in the row of each query.
    """
    received = size if rows is None else (size * rows[..., None]).sum(1)
    whole = received.sum(-1, keepdim=True)
    return torch.where(whole > 0, received / whole, 1 / received.shape[-1])


def by_word(tokens: PerToken, examples: Sequence[Encoded]) -> list[Importance]:
    """Return the sum over the pieces of each word, without special tokens."""
    values = array(tokens)
    by_example = []
    for row, example in enumerate(examples):
        words = np.array(example.words)
        sums = np.zeros(words.max(initial=-1) + 1)
        np.add.at(sums, words[words >= 0], values[row, : len(words)][words >= 0])
        by_example.append(sums)
    return by_example
