"""Importance of each word of a text for a prediction, by each measure."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.classifiers.predictor import Importance
from headlight.analysis.positions import array
from headlight.capture import LayerRecord
from headlight.encode import Encoded
from headlight.measures import Scores

PerToken = Float[Tensor, "batch token"]


class AttentionImportance:
    """Sees the attention of a batch; keeps what each token is given, by measure.

    Of each layer: the mean over heads and rows of the size of the measure, as shares that add up to
    1, so that layers count alike; then the mean over layers.

    Args:
        rows: Those that speak for a text together; None for every row by itself.
        measures: What is asked of them.
    """

    def __init__(self, rows: Bool[Tensor, "batch query"] | None, measures: Sequence[str]) -> None:
        self._rows = rows
        self._measures = measures
        self._sums: dict[str, PerToken] = {}
        self._layers = 0

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer."""
        scores = Scores(record, precision=torch.float32)
        self._layers += 1
        for name in self._measures:
            size = scores.of(name).abs().mean(1)
            given = share_of_rows(size, self._rows)
            self._sums[name] = self._sums.get(name, torch.zeros_like(given)) + given

    def found(self) -> dict[str, PerToken]:
        """The means over the layers."""
        return {name: sums / self._layers for name, sums in self._sums.items()}


def share_of_rows(
    size: Float[Tensor, "batch query key"], rows: Bool[Tensor, "batch query"] | None
) -> Float[Tensor, "batch *query key"]:
    """Return the shares that keys receive from these rows together; equal where nothing is given.

    Without any rows, the shares that each query gives.
    """
    given = size if rows is None else (size * rows[..., None]).sum(1)
    whole = given.sum(-1, keepdim=True)
    return torch.where(whole > 0, given / whole, 1 / given.shape[-1])


def by_word(tokens: PerToken, examples: Sequence[Encoded]) -> list[Importance]:
    """The sum over the pieces of each word; special tokens are none."""
    values = array(tokens)
    found = []
    for row, example in enumerate(examples):
        words = np.array(example.words)
        sums = np.zeros(words.max(initial=-1) + 1)
        np.add.at(sums, words[words >= 0], values[row, : len(words)][words >= 0])
        found.append(sums)
    return found


def random_source(seed: int, text_id: int, *, layer: int = 0, draw: int = 0) -> np.random.Generator:
    """Random numbers that depend on nothing but these.

    Args:
        seed: of the study.
        text_id: of the text; see `Texts.text_ids`.
        layer: whose attention they are for.
        draw: the number of the draw.
    """
    key = np.array([seed, text_id], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, layer, draw]))
