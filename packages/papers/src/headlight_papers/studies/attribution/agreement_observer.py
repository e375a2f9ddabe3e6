"""Agreement of estimated contributions with exact ones, batch by batch."""

import numpy as np

from headlight.capture.attribution import Attribution
from headlight.encode.batch import Batch
from headlight.engine.observer import Observer
from headlight.observations.layer_arrays import moments
from headlight.observations.positions import Positions
from headlight.reduce import Accumulator, Histogram, Pearson, Tally
from headlight_papers.studies.attribution.contribution_sums import (
    Contribution,
    is_not_largest,
    own_contribution,
)
from headlight_papers.studies.attribution.observer import EDGES, AttributionSpec, selected_rows


class AgreementObserver(Observer):
    """Observer that compares estimated contributions of one batch with exact ones.

    Args:
        batch: Input of the model.
        estimate: Its contributions, estimated from random directions.
        spec: Specification of attention and layers.
    """

    wants_attention = False

    def __init__(self, batch: Batch, estimate: Attribution, spec: AttributionSpec) -> None:
        self._present = Positions.for_kind(batch, spec.kind)[0].category >= 0
        self._estimate = estimate
        self._layers = list(spec.layers)
        self._found: dict[str, Accumulator] = {}

    def note_attribution(self, attribution: Attribution) -> None:
        """Compare with exact contributions, over all pairs of tokens where these are positive."""
        exact = attribution.contribution[self._layers].double()
        estimate = self._estimate.contribution[self._layers].double()
        pair = self._present[:, :, None] & self._present[:, None]
        truth, guess = selected_rows(exact, pair), selected_rows(estimate, pair)
        # Exact zeros, as under a causal mask, would make the relative error infinite.
        some = np.where(truth > 0, truth, np.nan)
        difference = np.abs(guess - some)
        self._found |= {
            "difference": moments(difference),
            "relative": moments(difference / some),
            "correlation": _correlated(some, guess),
        }
        if self._estimate.standard_error is not None:
            error = selected_rows(self._estimate.standard_error[self._layers], pair)
            # Two standard errors hold about 95% of estimates, if these are right.
            inside = np.where(np.isnan(difference), np.nan, difference <= 2 * error)
            self._found["inside"] = moments(inside)
        for name, contribution in (("exact", exact), ("estimated", estimate)):
            self._note_own(name, contribution)

    def tally(self) -> Tally:
        """Return the statistics of the batch."""
        return Tally(self._found)

    def _note_own(self, name: str, contribution: Contribution) -> None:
        rows = selected_rows(own_contribution(contribution), self._present)
        spread = Histogram(EDGES, rows.shape[1:])
        spread.update(rows.clip(0.0, 1.0))
        self._found |= {
            f"{name}_own": moments(rows),
            f"{name}_spread": spread,
            f"{name}_not_largest": moments(
                selected_rows(is_not_largest(contribution), self._present)
            ),
        }


def _correlated(first: np.ndarray, second: np.ndarray) -> Pearson:
    correlation = Pearson(first.shape[1:])
    correlation.update(first, second)
    return correlation
