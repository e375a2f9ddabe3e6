"""Which heads find which relations: tables of the best heads and of all."""

import numpy as np
import pandas
import xarray

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

    Head and offset are chosen on the words that they are evaluated on, as in the paper; the
    interval does not know of the choice, so it is one of a head that was named beforehand.  Of
    equal heads the first counts, by layer, head and direction.

    Args:
        result: Of the study.
        measure: Only this one; by default all.
        min_count: Rarer relations are left out, as are the root and punctuation.

    Returns:
        ``measure``, ``relation``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low``, ``high``, ``baseline`` (the accuracy of the best fixed offset), ``offset``,
        ``gain`` (the accuracy less the baseline), ``gain_low`` and ``gain_high`` (its interval,
        over the same sentences): for each measure all words, then the relations, the most frequent
        first.  Shares of 1, layers and heads from 0.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    rows = [
        _best(chosen.sel(relation=name))
        for chosen in (_of(result, each) for each in measures)
        for name in _listed(chosen, min_count)
    ]
    return pandas.DataFrame(rows, columns=["measure", *_COLUMNS, "baseline", "offset", *_GAIN])


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
        # Results of earlier versions have none.
        **{name: float(cell[name]) if name in cell else np.nan for name in _GAIN},
    }
