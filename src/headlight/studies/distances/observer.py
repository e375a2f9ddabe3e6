"""How differently heads attend, text by text: what is seen in one batch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from headlight.analysis.positions import Positions
from headlight.capture import LayerRecord
from headlight.errors import CaptureError
from headlight.measures import Scores
from headlight.measures.divergence import distributions, divergence
from headlight.measures.precision import single
from headlight.reduce import Moments, Tally
from headlight.shapes import Score
from headlight.vocabulary import ValueBias


class DistancesObserver:
    """Holds the attention of all layers of one batch, and then compares all pairs of heads.

    Args:
        queries: the attending positions.
        keys: the attended ones.
        measures: by which heads are compared.
        value_bias: see `headlight.measures.Scores`.
        smoothing: see `headlight.measures.divergence`.
    """

    def __init__(
        self,
        queries: Positions,
        keys: Positions,
        measures: Sequence[str],
        value_bias: ValueBias,
        smoothing: float,
    ) -> None:
        self._queries = queries
        self._keys = keys
        self._measures = measures
        self._value_bias = value_bias
        self._smoothing = smoothing
        self._seen: dict[int, dict[str, Score]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Keep what is compared later; all of it, since every pair of layers is compared."""
        scores = Scores(record, self._value_bias, precision=torch.float32)
        self._seen[record.site.layer] = {
            measure: single(scores.of(measure)) for measure in self._measures
        }

    def tally(self) -> Tally:
        """Mean divergence per query of every pair of heads, each text counting by its queries.

        Raises:
            CaptureError: a score is not finite.
        """
        found = Moments((len(self._measures), _pairs(self._heads)))
        for text in range(len(self._queries.category)):
            queries, keys = (_there(side.category[text]) for side in (self._queries, self._keys))
            number = queries.stop - queries.start
            means = np.stack(
                [self._divergence(name, text, queries, keys) / number for name in self._measures]
            )
            if not np.isfinite(means).all():
                raise CaptureError(
                    "attention that is not finite cannot be compared; load the model in float32."
                )
            found.absorb(float(number), means, 0.0, means, means)
        return Tally({"distance": found})

    @property
    def _heads(self) -> int:
        name = self._measures[0]
        return sum(layer[name].shape[1] for layer in self._seen.values())

    def _divergence(
        self, measure: str, text: int, queries: slice, keys: slice
    ) -> Float64[np.ndarray, " pair"]:
        """Of the heads of all layers on one text; the upper triangle, row by row."""
        layers = [
            self._seen[layer][measure][text, :, queries, keys] for layer in sorted(self._seen)
        ]
        rows = distributions(torch.cat(layers))
        found: Float64[np.ndarray, "first second"] = divergence(rows, self._smoothing).numpy()
        return found[np.triu_indices(len(found), 1)]


def _there(category: Int64[Tensor, " position"]) -> slice:
    """The positions of a text, which padding precedes or follows."""
    places = (category >= 0).nonzero()[:, 0]
    return slice(int(places[0]), int(places[-1]) + 1)


def _pairs(heads: int) -> int:
    return heads * (heads - 1) // 2
