"""Scores of induction, duplicate tokens and previous tokens on repeated random tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.observations.layer_arrays import stacked
from headlight.studies.circuits.probe_texts import Repeated
from headlight.tensors import Score
from headlight.vocabulary import measure

BEHAVIOURS = {
    "prefix_matching": ("induction", False),
    "duplicate_token": ("duplicate", False),
    "previous_token": ("previous", False),
    "transformerlens_induction": ("induction", True),
    "transformerlens_duplicate": ("duplicate", True),
    "transformerlens_previous": ("all_previous", True),
    "headvis_induction": ("not_small", False),
}
"""Sum that each score is made of, and whether it is divided by all attention.

The first three are those of Olsson et al. (2022), means over the queries of the second half; the
others follow the definitions of two tools.
"""
SUMS = ("induction", "duplicate", "previous", "not_small", "all_previous", "whole")
SMALLEST = 0.01
"""Smallest value that HeadVis counts; smaller ones are taken as 0."""


class RepeatedCounter:
    """Counter of the scores of all layers, while sequences of one length run."""

    def __init__(self, text: Repeated, measures: Sequence[str]) -> None:
        self._begin, self._period = text.begin, text.period
        self._measures = measures
        self._seen: dict[int, Float[Tensor, "text head measure sum"]] = {}

    def look(self, scores: Scores) -> None:
        """Add the sums over some queries of a layer to those of the queries before them."""
        record = scores.record
        sums = [self._sums(_shares(scores, name), record) for name in self._measures]
        layer_sums, layer = torch.stack(sums, 2), record.site.layer
        # Blocks of queries come in order; the first begins the sums of the layer anew.
        self._seen[layer] = self._seen[layer] + layer_sums if record.first else layer_sums

    def scores(self) -> Float64[np.ndarray, "text behaviour measure layer head"]:
        """Return `BEHAVIOURS` of each sequence; NaN where a layer has fewer heads."""
        sums = stacked([self._seen[layer] for layer in sorted(self._seen)])
        by_name = dict(zip(SUMS, sums.transpose(4, 0, 3, 1, 2), strict=True))
        return np.stack(
            [
                by_name[name] / (by_name["whole"] if share else self._period)
                for name, share in BEHAVIOURS.values()
            ],
            axis=1,
        )

    def _sums(self, score: Score, record: LayerRecord) -> Float[Tensor, "text head sum"]:
        first, stop = record.first, record.first + score.shape[2]
        half = self._begin + self._period
        places = torch.arange(first, stop, device=score.device)

        def back(begin: int, end: int, distance: int) -> Float[Tensor, "text head query"]:
            """Return the scores of queries for the key at this distance before them."""
            queries = places[max(begin - first, 0) : max(end - first, 0)]
            return score[:, :, queries - first, queries - distance]

        end = half + self._period
        # The token behind the first occurrence stands one place nearer than the period.
        induction = back(half, end, self._period - 1)
        sums = {
            "induction": induction,
            "duplicate": back(half, end, self._period),
            "previous": back(half, end, 1),
            "not_small": induction.where(induction >= SMALLEST, 0),
            "all_previous": back(1, stop, 1),
            "whole": score.sum(3),
        }
        return torch.stack([sums[name].sum(2) for name in SUMS], -1)


def _shares(scores: Scores, name: str) -> Score:
    """Return a measure, scaled so that each row sums to 1 where it is not zero."""
    shares: Tensor = scores.of(name)
    if measure(name).share:
        return shares
    whole = shares.sum(-1, keepdim=True)
    return shares / whole.where(whole > 0, 1)
