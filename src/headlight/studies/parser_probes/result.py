"""The result of probes: one row for each probe and measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray

from headlight.reduce.intervals import resampled_share
from headlight.result import describe
from headlight.studies.parser_probes.evaluation import METRICS, Counts, share
from headlight.studies.parser_probes.training import TrainingHistory

VARIABLES = {
    "score": ("share of words, or edges, that are found", "1"),
    "low": ("percentile 2.5 of the score over resampled sentences", "1"),
    "high": ("percentile 97.5 of the score over resampled sentences", "1"),
    "by_seed": ("score for each seed", "1"),
    "parameters": ("numbers that are learned", "1"),
    "epochs": ("epochs trained", "1"),
    "best_epoch": ("epoch whose weights were kept", "1"),
    "loss": ("cross-entropy per word on the held-out sentences", "nat"),
}


@dataclass
class Row:
    """One probe on one measure, once for each seed."""

    probe: str
    measure: str
    parameters: int = 0
    counts: list[Counts] = field(default_factory=list)
    histories: list[TrainingHistory] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What stands for it, unique among rows."""
        return f"{self.probe}/{self.measure}" if self.measure else self.probe

    def scores(self) -> list[tuple[float, float, float]]:
        """Share, and between what it lies, for each metric; over all seeds together."""
        together = self.counts[0]
        for counts in self.counts[1:]:
            together = together + counts
        found = []
        for metric in METRICS:
            correct, total = together.of(metric)
            found.append((share(correct, total), *resampled_share(correct, total)))
        return found

    def by_seed(self) -> list[list[float]]:
        """Share for each seed and metric."""
        return [[share(*counts.of(metric)) for metric in METRICS] for counts in self.counts]


def dataset(
    rows: Sequence[Row], seeds: Sequence[int], attributes: Mapping[str, Any]
) -> xarray.Dataset:
    """Named arrays of what the probes achieved."""
    scores = np.array([row.scores() for row in rows])
    result = xarray.Dataset(
        {
            "score": (("row", "metric"), scores[..., 0]),
            "low": (("row", "metric"), scores[..., 1]),
            "high": (("row", "metric"), scores[..., 2]),
            "by_seed": (("row", "seed", "metric"), np.array([row.by_seed() for row in rows])),
            "parameters": ("row", np.array([row.parameters for row in rows])),
            "epochs": (("row", "seed"), _of_histories(rows, lambda history: history.epochs)),
            "best_epoch": (("row", "seed"), _of_histories(rows, lambda history: history.best)),
            "loss": (("row", "seed"), _of_histories(rows, _best_loss)),
        },
        coords={
            "row": [row.label for row in rows],
            "probe": ("row", [row.probe for row in rows]),
            "measure": ("row", [row.measure for row in rows]),
            "metric": list(METRICS),
            "seed": list(seeds),
        },
    )
    return describe(result, VARIABLES).assign_attrs(attributes)


def _best_loss(history: TrainingHistory) -> float:
    return history.losses[history.best - 1] if history.losses else np.nan


def _of_histories(rows: Sequence[Row], what: Any) -> np.ndarray:
    return np.array([[what(history) for history in row.histories] for row in rows])
