"""Page of distances: which heads attend alike."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import distances
from headlight.findings.distances import FURTHEST
from headlight.findings.hierarchical_clustering import tree
from headlight.findings.multidimensional_scaling import embedding as embed
from headlight.findings.phrases import percent, plural
from headlight.views.headline import BarList, value_bars
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.parts.result_facts import mean_of, rounded
from headlight.views.pictures import Embedding, dendrogram, embedding
from headlight.vocabulary import head_name

findings = distances.distances
"""Findings in words, shown first."""

SOURCE = "Clark et al. (2019), Figure 6"


TITLES = {"effective": "effective attention"}


BARS = 8
"""Pairs of heads of the headline."""


def headline_pictures(result: xr.Dataset) -> list[BarList]:
    """Return the distances of the heads that are nearest to each other, by the first measure.

    Args:
        result: Result of the study.
    """
    apart = result["distance"].isel(measure=0).transpose("first", "second").values / FURTHEST
    first, second = np.triu_indices(len(apart), 1)
    places = [
        at for at in np.argsort(apart[first, second]) if np.isfinite(apart[first[at], second[at]])
    ]
    if not places:
        return []
    names, usual = _names(result), f"mean of {plural(len(places), 'pair')}"
    values = {
        f"{names[first[at]]} and {names[second[at]]}": float(apart[first[at], second[at]])
        for at in places[:BARS]
    }
    values[usual] = float(np.nanmean(apart[first, second]))
    title = "Distance of two heads, of the largest possible one"
    return [BarList(title, value_bars(values, percent, [usual]))]


def summary(result: xr.Dataset) -> Summary:
    """Return the mean divergence of two heads, within a layer and between layers."""
    numbers: dict[str, float | int | str] = {}
    for measure in _measures(result):
        between = result["distance"].sel(measure=measure).transpose("first", "second").values
        same = result["layer"].values[:, None] == result["second_layer"].values[None, :]
        others = ~np.eye(len(between), dtype=bool)
        numbers[f"{measure}_within_layer"] = mean_of(between[same & others])
        numbers[f"{measure}_between_layers"] = mean_of(between[~same])
    return rounded(numbers)


def sections(result: xr.Dataset) -> list[Section]:
    """Return the section on nearest heads, and one with a map and a tree for each measure."""
    return [_nearest(result), *(_measure(result, measure) for measure in _measures(result))]


def _measures(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values]


def _names(result: xr.Dataset) -> list[str]:
    return list(map(head_name, result["layer"].values.tolist(), result["head"].values.tolist()))


def _nearest(result: xr.Dataset) -> Section:
    names = np.array(_names(result))
    columns: dict[str, object] = {"layer": result["layer"].values, "head": result["head"].values}
    for measure in _measures(result):
        between = result["distance"].sel(measure=measure).transpose("first", "second").values
        apart = np.where(np.eye(len(between), dtype=bool) | np.isnan(between), np.inf, between)
        nearest = apart.argmin(axis=1)
        columns[f"nearest by {measure}"] = names[nearest]
        columns[f"divergence by {measure}"] = apart[np.arange(len(apart)), nearest]
    return Section(
        "nearest",
        "The nearest head of each head",
        "The Jensen-Shannon divergence between the rows of two heads, in nats, averaged over all "
        "queries: 0 for heads that attend in the same way, 0.693 for heads that share no key.",
        "Clark et al. (2019), Section 6",
        [],
        [Table("nearest", "Nearest heads", pd.DataFrame(columns), smallest_first=True)],
    )


def _measure(result: xr.Dataset, measure: str) -> Section:
    distances = result["distance"].sel(measure=measure)
    names, layers = _names(result), [str(layer) for layer in result["layer"].values]

    def draw_map() -> Figure:
        points = embed(distances)
        panel = Embedding(
            "Heads by layer",
            points.values,
            layers,
            ordered=True,
            group_label="layer",
            note=f"stress {points.attrs['stress']:.2f}",
            heads=names,
        )
        return embedding([panel])

    def draw_tree() -> Figure:
        return dendrogram(tree(distances), names, layers, y_label="divergence (nats)")

    drawings = []
    if len(names) > 2 and np.isfinite(distances).all():
        words = (
            "Points are as far apart as heads are, as nearly as a plane allows: the stress is how "
            "far their distances are off, 0 where all are kept, and says nothing is to be read "
            "from small differences where it is large (0.2 and more). Point at one to see which "
            "head it is."
        )
        drawings = [
            Drawing(f"{measure}_map", words, f"A map of heads by {measure}.", draw_map),
            Drawing(
                f"{measure}_tree",
                "The same as a tree: what is nearest is joined first, at the height of the mean "
                "divergence.",
                f"A tree of heads by {measure}.",
                draw_tree,
            ),
        ]
    return Section(
        f"by-{measure}",
        f"Heads by {TITLES.get(measure, measure)}",
        "Heads that attend alike are near.",
        SOURCE,
        drawings,
    )
