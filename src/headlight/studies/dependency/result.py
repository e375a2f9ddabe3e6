"""The result of an evaluation of heads as parsers: accuracies with named axes and intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Bool, Float64

from headlight.analysis.gradient_passes import head_mask
from headlight.reduce import Tally
from headlight.result import FORMAT
from headlight.studies.dependency.baselines import OFFSETS
from headlight.studies.dependency.predictions import DIRECTIONS
from headlight.studies.dependency.settings import DependencySettings
from headlight.studies.word_maps.index import PUNCTUATION

ALL = "all"
"""The relation that stands for every word, punctuation and the root included."""
LEVEL = 0.95
"""Of the intervals."""

_CELL = ("measure", "layer", "head", "direction")


def dataset(
    tally: Tally,
    settings: DependencySettings,
    measures: Sequence[str],
    relations: Sequence[str],
    heads: Mapping[int, int],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Named arrays of what a pass has found.

    Args:
        tally: What the observers saw, merged.
        settings: What was asked.
        measures: Those of this pass.
        relations: Their names, by number.
        heads: How many heads each observed layer has.
        attributes: What would have to be repeated to get the same.
    """
    found = {name: each for name, each in tally.compute().items() if name != "sentences"}
    names = np.array(relations)
    order = _order(names, found["count"]["total"])
    sums = {
        name: {kind: _with_all(counts[..., order]) for kind, counts in each.items()}
        for name, each in found.items()
    }
    there = head_mask(measures, [heads[layer] for layer in sorted(heads)])
    plain = np.array([not _is_punctuation(name) for name in names[order]], dtype=np.float64)
    return xarray.Dataset(
        _variables(sums, there, plain),
        coords={
            "measure": list(measures),
            "layer": sorted(heads),
            "head": list(range(there.shape[2])),
            "direction": list(DIRECTIONS),
            "relation": [ALL, *names[order]],
            "offset": list(OFFSETS[settings.offsets]),
        },
        attrs={
            **{name: value for name, value in attributes.items() if value is not None},
            "format": FORMAT,
            "stage": "dependency",
        },
    )


def _variables(
    sums: Mapping[str, Mapping[str, np.ndarray]],
    there: Bool[np.ndarray, "measure layer head"],
    plain: Float64[np.ndarray, " relation"],
) -> dict[str, Any]:
    """All arrays, with their axes.

    Args:
        sums: Of every count, as it is and resampled; the first relation is all words.
        there: Which heads there are.
        plain: 1 for every relation but the first that is not punctuation.
    """
    count, offset = sums["count"]["total"], sums["offset"]["total"]
    correct = _where(there, sums["correct"]["total"])
    low, high = interval(sums["correct"]["replicates"], sums["count"]["replicates"])
    unpunctuated = _share(correct[..., 1:] @ plain, np.asarray(count[1:] @ plain))
    return {
        "correct": ((*_CELL, "relation"), correct),
        "accuracy": ((*_CELL, "relation"), _share(correct, count)),
        "low": ((*_CELL, "relation"), _where(there, low)),
        "high": ((*_CELL, "relation"), _where(there, high)),
        "uas_without_punctuation": (_CELL, unpunctuated),
        "count": ("relation", count),
        "offset_correct": (("offset", "relation"), offset),
        "offset_accuracy": (("offset", "relation"), _share(offset, count)),
        "right_branching": ("relation", _share(sums["right_branching"]["total"], count)),
    }


def interval(
    correct: Float64[np.ndarray, "replicate *cell relation"],
    count: Float64[np.ndarray, "replicate relation"],
) -> tuple[Float64[np.ndarray, "*cell relation"], Float64[np.ndarray, "*cell relation"]]:
    """Percentiles of the accuracy over the resamples in which the relation occurs; NaN if none.

    Source: Efron and Tibshirani (1993), Section 13.3, the percentile interval.
    """
    bounds = np.full((2, *correct.shape[1:]), np.nan)
    for relation in range(count.shape[-1]):
        occurs = count[:, relation] > 0
        if occurs.any():
            whole = count[occurs, relation].reshape(-1, *(1,) * (correct.ndim - 2))
            shares = correct[occurs, ..., relation] / whole
            tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
            bounds[..., relation] = np.quantile(shares, tails, axis=0)
    return bounds[0, ...], bounds[1, ...]


def _order(names: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Relations that occur, the most frequent first; in alphabetical order where two are equal."""
    order = np.lexsort((names, -count))
    return order[count[order] > 0]


def _with_all(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([counts.sum(axis=-1, keepdims=True), counts], axis=-1)


def _is_punctuation(relation: str) -> bool:
    return relation.partition(":")[0] == PUNCTUATION


def _where(there: Bool[np.ndarray, "measure layer head"], cells: np.ndarray) -> np.ndarray:
    """NaN for heads that are not there; the axes are those of `_CELL` and perhaps more."""
    return np.where(there.reshape(*there.shape, *(1,) * (cells.ndim - 3)), cells, np.nan)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return part / np.where(whole > 0, whole, np.nan)
