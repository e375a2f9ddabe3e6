"""Heads that find the governors of words, as tables and in sentences."""

from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas
import xarray
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import around, around_first, beside, many, undecided
from headlight.findings.phrases import name_of, percent
from headlight.findings.what_was_read import independent_units
from headlight.result.estimate import with_ends
from headlight.settings import require_choice

ALL = "all"
"""Relation that stands for every word, punctuation and the root included."""
UNLISTED = ("root", "punct")
"""Relations that Table 1 leaves out: no head can find the root, and punctuation is convention."""


def base_relation(relation: str) -> str:
    """Return the relation without its subtype: ``nmod`` of ``nmod:poss``."""
    return relation.partition(":")[0]


def best_heads(
    result: xarray.Dataset, measure: str | None = None, *, min_count: int = 100
) -> pandas.DataFrame:
    """Return the head that finds each relation best, as in Table 1 of Clark et al. (2019).

    Head and offset are chosen on the words that they are evaluated on, as in the paper.  The
    interval of the accuracy ignores the choice, so it is the interval of a head that was named
    beforehand; `cross_fit` is the accuracy without the luck of the choice, and the lower end of
    the gain holds for all heads and directions at once.  Of equal heads the first is chosen, by
    layer, head and direction.

    Args:
        result: Result of the study.
        measure: Only measure to list; by default all.
        min_count: Fewest words of a listed relation; the root and punctuation are left out, too.

    Returns:
        ``measure``, ``relation``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low``, ``high``, ``cross_fit`` (chosen on one half of the corpus, estimated on the other),
        ``baseline`` (the accuracy of the best fixed offset), ``offset``, ``gain`` (the accuracy
        less the baseline), ``gain_low`` and ``gain_high`` (its interval, over the same sentences):
        for each measure all words, then the relations, the most frequent first.  Shares of 1,
        layers and heads from 0.

    Raises:
        UnknownNameError: The result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    rows = [
        _best(chosen.sel(relation=name))
        for chosen in (_select_measure(result, name) for name in measures)
        for name in _listed(chosen, min_count)
    ]
    columns = ["measure", *_COLUMNS, "cross_fit", "baseline", "offset", *_GAIN]
    return pandas.DataFrame(rows, columns=columns)


def gains(result: xarray.Dataset, *dims: str) -> Estimate:
    """Return the gain of heads over the best fixed offset, on the same words.

    Args:
        result: Result of the study, for a single relation.
        dims: Axes of the accuracy; by default layer, head and direction.
    """
    accuracy = estimates(result, "accuracy", dims or _CELL)
    offsets = estimates(result, "offset_accuracy", ("offset",))
    return accuracy.minus(offsets.at(offsets.first() or (0,)))


def all_heads(
    result: xarray.Dataset, measure: str, *, relation: str | None = None, min_count: int = 1
) -> pandas.DataFrame:
    """Return every head, direction and relation; the most accurate first within each relation.

    Args:
        result: Result of the study.
        measure: Measure of the result.
        relation: Only relation to list; by default all.
        min_count: Fewest words of a listed relation; the root and punctuation are listed, too.

    Raises:
        UnknownNameError: The result has no such measure or relation.
    """
    chosen = _select_measure(result, measure)
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


def _select_measure(result: xarray.Dataset, measure: str) -> xarray.Dataset:
    require_choice("measure", measure, result.measure.values)
    return result.sel(measure=measure)


def _listed(chosen: xarray.Dataset, min_count: int) -> list[str]:
    enough = chosen.relation.values[chosen["count"].values >= min_count]
    relations = [str(name) for name in enough if name != ALL]
    return [ALL, *(name for name in relations if base_relation(name) not in UNLISTED)]


def _best(of_relation: xarray.Dataset) -> dict[str, object]:
    """Return the row of the best head, and of the best offset, for a single relation."""
    accuracy = estimates(of_relation, "accuracy", _CELL)
    places = accuracy.first() or (0, 0, 0)
    best = accuracy.at(places)
    gain = gains(of_relation).simultaneous(independent_units(of_relation)).at(places)
    cell = of_relation.isel(dict(zip(_CELL, places, strict=True)))
    offset = of_relation.isel(offset=int(np.argmax(of_relation.offset_accuracy.values)))
    return {
        "measure": str(of_relation.measure.item()),
        "relation": str(of_relation.relation.item()),
        "count": int(of_relation["count"]),
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


RARE = 100
"""Relations of fewer words, or of a twentieth of a small treebank, are not counted."""


def dependency(result: xr.Dataset) -> list[str]:
    """Return findings on the best head and fixed offset, and on relations with a better head."""
    fewest = min(RARE, int(result["count"].sel(relation=ALL)) // 20)
    table = best_heads(result, min_count=fewest)
    over_all_words = table[table["relation"] == ALL].sort_values("accuracy", ascending=False)
    best = over_all_words.to_dict("records")[0]
    words = result.sel(relation=ALL)
    offset = estimates(words, "offset_accuracy", (), offset=best["offset"])
    called = f"the {percent(best['baseline'])}{around(offset)} of the best fixed offset"
    axes = ("measure", "layer", "head", "direction")
    heads = estimates(words, "accuracy", axes)
    gain = gains(words, *axes)
    chosen = gain.simultaneous(independent_units(result)).at(gain.first() or (0,) * len(axes))
    beyond = beside(heads, offset, called, chosen)
    sentences = [
        f"{head_of_row(result, best)} finds the governor of {percent(best['accuracy'])} of words"
        f"{around_first(heads)}, {beyond}.{undecided_heads(words)}"
    ]
    relations = table[(table["measure"] == best["measure"]) & (table["relation"] != ALL)]
    if len(relations):
        rows = relations.to_dict("records")
        verdicts = np.array([estimate_of_row(row, "gain", "gain_").against(0.0) for row in rows])
        sentences.append(
            f"Of {len(rows)} relations, {many(verdicts)} have a head that is better than the best "
            f"offset (counting in that each was chosen of {candidate_heads(result):,} on these "
            "very words)."
        )
    return sentences


def estimate_of_row(
    row: Mapping[Hashable, Any], name: str = "accuracy", ends: str = ""
) -> Estimate:
    """Return the number of a row of a table, with its interval."""
    names = (name, f"{ends}low", f"{ends}high")
    return Estimate.with_ends(*(np.asarray(row[column], dtype=np.float64) for column in names))


def candidate_heads(result: xr.Dataset) -> int:
    """Return the number of heads and directions among which the best was chosen."""
    return int(np.prod([result.sizes[dim] for dim in ("layer", "head", "direction")]))


def head_of_row(result: xr.Dataset, row: Mapping[Hashable, Any]) -> str:
    """Return the name of a head, and the measure that it is judged by."""
    return f"{name_of(result, row['layer'], row['head'])} by {row['measure']}"


def undecided_heads(result: xr.Dataset) -> str:
    """Return a sentence on other heads, by any measure, that may be best as well; else nothing."""
    dims = ("measure", "layer", "head")
    numbers = estimates(result, "accuracy", (*dims, "direction"))
    better = np.nan_to_num(numbers.value, nan=-1).argmax(-1)  # direction of each
    best = numbers.at((*np.indices(better.shape), better))
    names = [
        head_of_row(result, dict(zip(dims, place, strict=True)))
        for place in product(*(result[dim].values.tolist() for dim in dims))
    ]
    return undecided(best, names, "which head finds most")
