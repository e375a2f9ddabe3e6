"""Agreement of estimated contributions with exact ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.analysis.positions import Positions, array, moments
from headlight.capture.attribution import Attribution
from headlight.encode.batch import Batch
from headlight.reduce import Accumulator, Histogram, Pearson, Tally
from headlight_papers.studies.attribution.observer import EDGES, AttributionSpec
from headlight_papers.studies.attribution.statistics import Contribution, boxes, is_not_largest, own


class AgreementObserver:
    """Compares the estimate of one batch with what is exact.

    Args:
        batch: what the model is given.
        estimate: its contributions from random directions.
        spec: which attention and layers.
    """

    def __init__(self, batch: Batch, estimate: Attribution, spec: AttributionSpec) -> None:
        self._present = Positions.for_kind(batch, spec.kind)[0].category >= 0
        self._estimate = estimate
        self._layers = list(spec.layers)
        self._found: dict[str, Accumulator] = {}

    def note_attribution(self, attribution: Attribution) -> None:
        """Compare with what is exact, over all pairs of tokens that exactly contribute."""
        exact = attribution.contribution[self._layers].double()
        estimate = self._estimate.contribution[self._layers].double()
        pair = self._present[:, :, None] & self._present[:, None]
        truth, guess = _rows(exact, pair), _rows(estimate, pair)
        some = np.where(truth > 0, truth, np.nan)
        difference = np.abs(guess - some)
        self._found |= {
            "difference": moments(difference),
            "relative": moments(difference / some),
            "correlation": _correlated(some, guess),
        }
        if self._estimate.standard_error is not None:
            error = _rows(self._estimate.standard_error[self._layers], pair)
            inside = np.where(np.isnan(difference), np.nan, difference <= 2 * error)
            self._found["inside"] = moments(inside)
        for name, found in (("exact", exact), ("estimated", estimate)):
            self._note_own(name, found)

    def tally(self) -> Tally:
        """The statistics of the batch."""
        return Tally(self._found)

    def _note_own(self, name: str, contribution: Contribution) -> None:
        rows = _rows(own(contribution), self._present)
        spread = Histogram(EDGES, rows.shape[1:])
        spread.update(rows.clip(0.0, 1.0))
        self._found |= {
            f"{name}_own": moments(rows),
            f"{name}_spread": spread,
            f"{name}_not_largest": moments(_rows(is_not_largest(contribution), self._present)),
        }


def _rows(values: Tensor, there: Bool[Tensor, "batch *position"]) -> np.ndarray:
    """Cells along the first axis, layers along the second."""
    return array(torch.movedim(values, 0, -1)[there])


def _correlated(first: np.ndarray, second: np.ndarray) -> Pearson:
    found = Pearson(first.shape[1:])
    found.update(first, second)
    return found


def agreement(found: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Named arrays over layers: how far the estimate is off, and what it makes of it.

    ``exact_difference`` and ``exact_relative`` are means over pairs of tokens of |estimate − exact|
    and of its share of the exact contribution; ``exact_inside`` is the share of pairs that two
    standard errors reach.
    """
    means = {
        "exact_difference": "difference",
        "exact_relative": "relative",
        "exact_inside": "inside",
        "exact_own_mean": "exact_own",
        "exact_not_largest": "exact_not_largest",
        "estimated_own_mean": "estimated_own",
        "estimated_not_largest": "estimated_not_largest",
    }
    named: dict[str, Any] = {
        name: ("layer", found[field]["mean"]) for name, field in means.items() if field in found
    }
    named["exact_correlation"] = ("layer", found["correlation"]["correlation"])
    for name in ("exact", "estimated"):
        spread = boxes(found[f"{name}_spread"]["counts"], np.array(EDGES))
        named[f"{name}_own_box"] = (("layer", "mark"), spread)
    return named
