"""Heads that find relations: tables of the best heads and of all."""

import numpy as np
import pandas
import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.what_was_read import independent_units
from headlight.result.estimate import with_ends
from headlight.settings import require_choice

ALL = "all"
"""The relation that stands for every word, punctuation and the root included."""
UNLISTED = ("root", "punct")
"""Relations that Table 1 leaves out: no head can find the root, and punctuation is convention."""


def base_relation(relation: str) -> str:
    """Without the subtype: ``nmod`` of ``nmod:poss``."""
    return relation.partition(":")[0]


def best_heads(
    result: xarray.Dataset, measure: str | None = None, *, min_count: int = 100
) -> pandas.DataFrame:
    """The head that finds each relation best, as in Table 1 of Clark et al. (2019).

    Head and offset are chosen on the words that they are evaluated on, as in the paper.  The
    interval of the accuracy does not know of the choice, so it is one of a head that was named
    beforehand; `cross_fit` is the accuracy without the luck of the choice, and the lower end of
    the gain holds for all heads and directions at once.  Of equal heads the first counts, by layer,
    head and direction.

    Args:
        result: Of the study.
        measure: Only this one; by default all.
        min_count: Rarer relations are left out, as are the root and punctuation.

    Returns:
        ``measure``, ``relation``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low``, ``high``, ``cross_fit`` (chosen on one half of the corpus, estimated on the other),
        ``baseline`` (the accuracy of the best fixed offset), ``offset``, ``gain`` (the accuracy
        less the baseline), ``gain_low`` and ``gain_high`` (its interval, over the same sentences):
        for each measure all words, then the relations, the most frequent first.  Shares of 1,
        layers and heads from 0.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    rows = [
        _best(chosen.sel(relation=name))
        for chosen in (_of(result, each) for each in measures)
        for name in _listed(chosen, min_count)
    ]
    columns = ["measure", *_COLUMNS, "cross_fit", "baseline", "offset", *_GAIN]
    return pandas.DataFrame(rows, columns=columns)


def gains(result: xarray.Dataset, *dims: str) -> Estimate:
    """Return what heads find beyond the best fixed offset, on the same words.

    Args:
        result: Of the study, for one relation.
        dims: Axes of the accuracy; by default layer, head and direction.
    """
    accuracy = estimates(result, "accuracy", dims or _CELL)
    offsets = estimates(result, "offset_accuracy", ("offset",))
    return accuracy.minus(offsets.at(offsets.first() or (0,)))


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
    cells = with_ends(chosen, "accuracy").rename(accuracy_low="low", accuracy_high="high")
    cells = cells[["accuracy", "low", "high", "count"]].reset_coords(drop=True)
    frame = cells.to_dataframe(["relation", *_CELL])
    frame = frame.dropna(subset="accuracy").reset_index()
    place = frame.relation.map({name: at for at, name in enumerate(chosen.relation.values)})
    order = np.lexsort((np.arange(len(frame)), -frame.accuracy.to_numpy(), place.to_numpy()))
    ordered = frame.iloc[order][list(_COLUMNS)].reset_index(drop=True)
    return ordered.astype({"count": int})


_CELL = ("layer", "head", "direction")
_GAIN = ("gain", "gain_low", "gain_high")
_COLUMNS = ("relation", "count", "layer", "head", "direction", "accuracy", "low", "high")


def _of(result: xarray.Dataset, measure: str) -> xarray.Dataset:
    require_choice("measure", measure, result.measure.values)
    return result.sel(measure=measure)


def _listed(chosen: xarray.Dataset, min_count: int) -> list[str]:
    """All words, and the relations that are frequent enough."""
    enough = chosen.relation.values[chosen["count"].values >= min_count]
    relations = [str(name) for name in enough if name != ALL]
    return [ALL, *(name for name in relations if base_relation(name) not in UNLISTED)]


def _best(one: xarray.Dataset) -> dict[str, object]:
    """The best head, and the best offset, for one relation."""
    accuracy = estimates(one, "accuracy", _CELL)
    places = accuracy.first() or (0, 0, 0)
    best = accuracy.at(places)
    gain = gains(one).simultaneous(independent_units(one)).at(places)
    cell = one.isel(dict(zip(_CELL, places, strict=True)))
    offset = one.isel(offset=int(np.argmax(one.offset_accuracy.values)))
    return {
        "measure": str(one.measure.item()),
        "relation": str(one.relation.item()),
        "count": int(one["count"]),
        "layer": int(cell["layer"]),
        "head": int(cell["head"]),
        "direction": str(cell["direction"].item()),
        "accuracy": float(best.value),
        "low": float(best.low),
        "high": float(best.high),
        "cross_fit": float(accuracy.largest().value),
        "baseline": float(offset.offset_accuracy),
        "offset": int(offset.offset),
        "gain": float(cell["gain"]),
        "gain_low": float(gain.low),
        "gain_high": float(gain.high),
    }
