"""The study of norms: how long vectors are, and how lengths go with weights and frequencies."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import density, head_map, points_by_layer, weight_and_length
from headlight.views.studies.parts import (
    Drawing,
    Figure,
    Section,
    Summary,
    categories,
    layer_panel,
    map_of_heads,
    mean_of,
    rounded,
)

SOURCE = "Kobayashi et al. (2020), {}"
QUANTITIES = {"weight": "α received", "norm": "‖f(x)‖"}


def summary(result: xr.Dataset) -> Summary:
    """Dispersion of ‖f(x)‖, and Spearman's ρ of α and ‖f(x)‖ by category."""
    correlations = {
        f"spearman_{name}": float(result["weight_norm_spearman"].sel(key_category=name))
        for name in categories(result)
    }
    return rounded({"vector_norm_cv": mean_of(result["vector_norm_cv"]), **correlations})


def sections(result: xr.Dataset) -> list[Section]:
    """Dispersion, categories, pairs of weight and norm, frequency."""
    return [_dispersion(result), _correlations(result), _categories(result), _frequency(result)]


def _dispersion(result: xr.Dataset) -> Section:
    rows = []
    for label, name in (("‖f(x)‖, over heads", "vector_norm"), ("‖x‖, over layers", "input_norm")):
        variation = result[f"{name}_cv"]
        rows.append(
            {
                "vector": label,
                "mean": mean_of(result[f"{name}_mean"]),
                "σ": mean_of(result[f"{name}_std"]),
                "CV": mean_of(variation),
                "largest CV": float(variation.max()),
                "smallest CV": float(variation.min()),
            }
        )

    def draw() -> Figure:
        series = {"‖f(x)‖, by head": result["vector_norm_cv"], "‖x‖": result["input_norm_cv"]}
        return points_by_layer([layer_panel("Coefficient of variation", series)])

    return Section(
        "dispersion",
        "How much lengths differ",
        "If all transformed vectors were equally long, weights alone would say what is moved. The "
        "coefficient of variation is the standard deviation of lengths over all tokens, divided by "
        "their mean.",
        SOURCE.format("Tables 1 and 4"),
        [Drawing("dispersion", "", "Coefficients of variation by layer.", draw)],
        [Table("dispersion", "Dispersion of lengths, means over heads", pd.DataFrame(rows))],
    )


def _correlations(result: xr.Dataset) -> Section:
    names = categories(result)
    found = result.sel(key_category=list(names))
    frame = pd.DataFrame(
        {
            "category": list(names.values()),
            "Spearman's ρ": found["weight_norm_spearman"].values,
            "error at most": found["weight_norm_spearman_error_bound"].values,
            "pairs": found["weight_norm_spearman_count"].values.astype(np.int64),
        }
    )

    def draw() -> Figure:
        by_head = result["weight_norm_spearman_by_head"]
        series = {label: by_head.sel(key_category=name) for name, label in names.items()}
        return points_by_layer([layer_panel("Spearman's ρ of α and ‖f(x)‖", series)])

    def draw_pairs() -> Figure:
        pairs = {label: _seen(result, name) for name, label in names.items()}
        longest = max(float(seen[:, 1].max(initial=0.0)) for seen in pairs.values())
        return density(
            [weight_and_length(label, seen, longest) for label, seen in pairs.items() if seen.size]
        )

    drawings = [Drawing("correlations", "", "Correlations by layer and category.", draw)]
    if np.isfinite(result["pairs_sample"]).any():
        words = "Pairs of a weight and a length, drawn at random."
        drawings.append(Drawing("pairs", words, words, draw_pairs))
    return Section(
        "correlations",
        "Do weights and lengths go together?",
        "Spearman's ρ of α and ‖f(x)‖ over all pairs of a query and a key. Below zero, a token "
        "that gets much weight offers a short vector, so that attention to it moves little.",
        SOURCE.format("Table 2 and Figure 5"),
        drawings,
        [Table("correlations", "Spearman's ρ of α and ‖f(x)‖", frame, {"pairs": ",d"})],
    )


def _seen(result: xr.Dataset, category: str) -> np.ndarray:
    """The sampled pairs of a category, [pair, (weight, norm)]; only weights above zero."""
    pairs = result["pairs_sample"].sel(key_category=category).transpose("sample", "pair").values
    return np.asarray(pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] > 0)])


def _categories(result: xr.Dataset) -> Section:
    names = categories(result)

    def draw() -> Figure:
        titles = {"weight_total": "Sum of α", "weighted_norm_total": "Sum of ‖αf(x)‖"}
        panels = [
            layer_panel(title, {names[key]: values.sel(key_category=key) for key in names})
            for title, values in ((title, result[name]) for name, title in titles.items())
        ]
        return points_by_layer(panels)

    def draw_lengths() -> Figure:
        lengths = result["vector_norm_by_category"]
        maps = [
            map_of_heads(label, lengths.sel(key_category=name), scale="norm", unit="‖f(x)‖")
            for name, label in names.items()
        ]
        return head_map(maps)

    variables = ["weight_total", "weighted_norm_total", "vector_norm_by_category"]
    found = result[variables].sel(key_category=list(names))
    frame = found.mean("head").to_dataframe(["layer", "key_category"])[variables]
    return Section(
        "categories",
        "What each category gets",
        "The sum over the tokens of a category of the weights, and of the lengths of the weighted "
        "vectors, averaged over queries and texts.",
        SOURCE.format("Figures 3 and 4"),
        [
            Drawing("categories", "", "Sums of weights and of weighted lengths by layer.", draw),
            Drawing("lengths", "Mean ‖f(x)‖ by head.", "Head maps of lengths.", draw_lengths),
        ],
        [Table("categories", "Means over heads", frame.reset_index())],
    )


def _frequency(result: xr.Dataset) -> Section:
    found = result["frequency_spearman"]
    frame = pd.DataFrame(
        {
            "quantity": [QUANTITIES[str(name)] for name in found["quantity"].values],
            "Spearman's ρ": found.values,
            "error at most": result["frequency_spearman_error_bound"].values,
            "tokens": result["frequency_spearman_count"].values.astype(np.int64),
        }
    )

    def draw() -> Figure:
        by_head = result["frequency_spearman_by_head"]
        series = {label: by_head.sel(quantity=name) for name, label in QUANTITIES.items()}
        return points_by_layer([layer_panel("Spearman's ρ with the frequency rank", series)])

    return Section(
        "frequency",
        "Frequent tokens",
        "The rank of a token by frequency (1 is the most frequent) against the weight that it "
        "receives and the length of its vector. Above zero, rare tokens get more.",
        SOURCE.format("Figure 6"),
        [Drawing("frequency", "", "Correlations with frequency by layer.", draw)],
        [Table("frequency", "Spearman's ρ with the frequency rank", frame, {"tokens": ",d"})],
    )
