"""The result of an evaluation of heads as parsers, and tables of the best heads and of all."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray
from jaxtyping import Bool, Float64

from headlight.analysis.positions import head_mask
from headlight.capture import AttentionSite
from headlight.corpora import PUNCTUATION_RELATION
from headlight.reduce import Tally, share, share_interval
from headlight.result import describe
from headlight.settings import require_choice
from headlight.studies.dependency.predictions import DIRECTIONS, OFFSETS
from headlight.studies.dependency.settings import DependencySettings

ALL = "all"
"""The relation that stands for every word, punctuation and the root included."""
UNLISTED = ("root", PUNCTUATION_RELATION)
"""Relations that Table 1 leaves out: no head can find the root, and punctuation is convention."""

VARIABLES = {
    "correct": ("words whose governor is found", "1"),
    "accuracy": ("share of the words whose governor is found", "1"),
    "low": ("lower end of the 95% interval of the accuracy", "1"),
    "high": ("upper end of the 95% interval of the accuracy", "1"),
    "uas_without_punctuation": ("accuracy over all words that are no punctuation", "1"),
    "count": ("words asked about", "1"),
    "offset_correct": ("words whose governor is at the offset", "1"),
    "offset_accuracy": ("share of the words whose governor is at the offset", "1"),
    "right_branching": ("accuracy of the right-branching baseline", "1"),
}
"""Long name and unit of every variable."""

_CELL = ("measure", "layer", "head", "direction")


def to_dataset(
    tally: Tally,
    settings: DependencySettings,
    measures: Sequence[str],
    relations: Sequence[str],
    sites: Sequence[AttentionSite],
) -> xarray.Dataset:
    """Named arrays of what a pass has found.

    Args:
        tally: What the observers saw, merged.
        settings: What was asked.
        measures: Those of this pass.
        relations: Their names, by number.
        sites: The observed layers.
    """
    found = {name: each for name, each in tally.compute().items() if name != "sentences"}
    names = np.array(relations)
    order = _order(names, found["count"]["total"])
    sums = {
        name: {kind: _with_all(counts[..., order]) for kind, counts in each.items()}
        for name, each in found.items()
    }
    there = head_mask(measures, [site.heads for site in sites])
    plain = np.array([_base(name) != PUNCTUATION_RELATION for name in names[order]], dtype=float)
    sentences, words, cut, lost = map(int, tally["sentences"].compute()["total"])
    result = xarray.Dataset(
        _variables(sums, there[..., None, None], plain),
        coords={
            "measure": list(measures),
            "layer": [site.layer for site in sites],
            "head": list(range(there.shape[2])),
            "direction": list(DIRECTIONS),
            "relation": [ALL, *names[order]],
            "offset": list(OFFSETS[settings.offsets]),
        },
        attrs={"sentences": sentences, "words": words, "cut_words": cut, "lost_words": lost},
    )
    return describe(result, VARIABLES)


def _variables(
    sums: Mapping[str, Mapping[str, np.ndarray]],
    there: Bool[np.ndarray, "measure layer head 1 1"],
    plain: Float64[np.ndarray, " relation"],
) -> dict[str, Any]:
    """All arrays, with their axes.

    Args:
        sums: Of every count, as it is and resampled; the first relation is all words.
        there: Which heads there are.
        plain: 1 for every relation but the first that is not punctuation.
    """
    count, offset = sums["count"]["total"], sums["offset"]["total"]
    correct = np.where(there, sums["correct"]["total"], np.nan)
    low, high = share_interval(sums["correct"]["replicates"], sums["count"]["replicates"])
    unpunctuated = share(correct[..., 1:] @ plain, np.asarray(count[1:] @ plain))
    return {
        "correct": ((*_CELL, "relation"), correct),
        "accuracy": ((*_CELL, "relation"), share(correct, count)),
        "low": ((*_CELL, "relation"), np.where(there, low, np.nan)),
        "high": ((*_CELL, "relation"), np.where(there, high, np.nan)),
        "uas_without_punctuation": (_CELL, unpunctuated),
        "count": ("relation", count),
        "offset_correct": (("offset", "relation"), offset),
        "offset_accuracy": (("offset", "relation"), share(offset, count)),
        "right_branching": ("relation", share(sums["right_branching"]["total"], count)),
    }


def _order(names: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Relations that occur, the most frequent first; in alphabetical order where two are equal."""
    order = np.lexsort((names, -count))
    return order[count[order] > 0]


def _with_all(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([counts.sum(axis=-1, keepdims=True), counts], axis=-1)


def _base(relation: str) -> str:
    """Without the subtype: ``nmod`` of ``nmod:poss``."""
    return relation.partition(":")[0]


def best_heads(
    result: xarray.Dataset, measure: str | None = None, *, min_count: int = 100
) -> pandas.DataFrame:
    """The head that finds each relation best, as in Table 1 of Clark et al. (2019).

    Head and offset are chosen on the words that they are evaluated on, as in the paper; the
    interval does not know of the choice, so it is one of a head that was named beforehand.  Of
    equal heads the first counts, by layer, head and direction.

    Args:
        result: Of the study.
        measure: Only this one; by default all.
        min_count: Rarer relations are left out, as are the root and punctuation.

    Returns:
        ``measure``, ``relation``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low``, ``high``, ``baseline`` (the accuracy of the best fixed offset) and ``offset``: for
        each measure all words, then the relations, the most frequent first.  Shares of 1, layers
        and heads from 0.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    rows = [
        _best(chosen.sel(relation=name))
        for chosen in (_of(result, each) for each in measures)
        for name in _listed(chosen, min_count)
    ]
    return pandas.DataFrame(rows, columns=["measure", *_COLUMNS, "baseline", "offset"])


def all_heads(
    result: xarray.Dataset, measure: str, *, relation: str | None = None, min_count: int = 1
) -> pandas.DataFrame:
    """Every head, direction and relation; the most accurate first within each relation.

    Args:
        result: Of the study.
        measure: One of its measures.
        relation: Only this one.
        min_count: Rarer relations are left out; the root and punctuation are there.

    Raises:
        UnknownNameError: the result has no such measure or relation.
    """
    chosen = _of(result, measure)
    if relation is not None:
        require_choice("relation", relation, chosen.relation.values)
        chosen = chosen.sel(relation=[relation])
    chosen = chosen.isel(relation=np.flatnonzero(chosen["count"].values >= min_count))
    cells = chosen[["accuracy", "low", "high", "count"]].reset_coords(drop=True)
    frame = cells.to_dataframe(["relation", "layer", "head", "direction"])
    frame = frame.dropna(subset="accuracy").reset_index()
    place = frame.relation.map({name: at for at, name in enumerate(chosen.relation.values)})
    order = np.lexsort((np.arange(len(frame)), -frame.accuracy.to_numpy(), place.to_numpy()))
    ordered = frame.iloc[order][list(_COLUMNS)].reset_index(drop=True)
    return ordered.astype({"count": int})


_COLUMNS = ("relation", "count", "layer", "head", "direction", "accuracy", "low", "high")


def _of(result: xarray.Dataset, measure: str) -> xarray.Dataset:
    require_choice("measure", measure, result.measure.values)
    return result.sel(measure=measure)


def _listed(chosen: xarray.Dataset, min_count: int) -> list[str]:
    """All words, and the relations that are frequent enough."""
    enough = chosen.relation.values[chosen["count"].values >= min_count]
    relations = [str(name) for name in enough if name != ALL]
    return [ALL, *(name for name in relations if _base(name) not in UNLISTED)]


def _best(one: xarray.Dataset) -> dict[str, object]:
    """The best head, and the best offset, for one relation."""
    accuracy = one.accuracy.transpose("layer", "head", "direction")
    layer, head, direction = np.unravel_index(np.nanargmax(accuracy), accuracy.shape)
    cell = one.isel(layer=layer, head=head, direction=direction)
    offset = one.isel(offset=int(np.argmax(one.offset_accuracy.values)))
    return {
        "measure": str(one.measure.item()),
        "relation": str(one.relation.item()),
        "count": int(one["count"]),
        "layer": int(cell["layer"]),
        "head": int(cell["head"]),
        "direction": str(cell["direction"].item()),
        "accuracy": float(cell.accuracy),
        "low": float(cell.low),
        "high": float(cell.high),
        "baseline": float(offset.offset_accuracy),
        "offset": int(offset.offset),
    }
