"""The study of norms: how long vectors are, and how lengths go with weights and frequencies."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.answers import heads
from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    categories,
    columns,
    curves,
    maps,
    mean_of,
    rounded,
)
from headlight.views.pictures import density, weight_and_length

findings = heads.norms
"""In words, which stand first."""

SOURCE = "Kobayashi et al. (2020), {}"
QUANTITY = By("quantity", {"weight": "α received", "norm": "‖f(x)‖"})


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

    draw = curves(
        result,
        Curve("vector_norm_cv", "‖f(x)‖, by head", "Coefficient of variation"),
        Curve("input_norm_cv", "‖x‖", "Coefficient of variation"),
    )
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
    category = By("key_category", names, "category")
    found = result.sel(key_category=list(names))
    title = "Spearman's ρ of α and ‖f(x)‖"
    draw = curves(found, Curve("weight_norm_spearman_by_head", panel=title, by=category))

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
        "Spearman's ρ of α and ‖f(x)‖: in the picture within each head, in the table also over "
        "the pairs of all heads pooled, where heads of long and of short vectors are mixed. Below "
        "zero, a token that gets much weight offers a short vector, so that attention to it moves "
        "little. Where the two differ, it is heads that differ, and not the tokens within one.",
        SOURCE.format("Table 2 and Figure 5"),
        drawings,
        [
            columns(
                "correlations",
                title,
                found,
                category,
                Columns("weight_norm_spearman", label="all heads pooled"),
                Columns("weight_norm_spearman_by_head", label="within a head, mean"),
                Columns("weight_norm_spearman_count", ",d", "pairs", whole=True),
            )
        ],
    )


def _seen(result: xr.Dataset, category: str) -> np.ndarray:
    """The sampled pairs of a category, [pair, (weight, norm)]; only weights above zero."""
    pairs = result["pairs_sample"].sel(key_category=category).transpose("sample", "pair").values
    return np.asarray(pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] > 0)])


def _categories(result: xr.Dataset) -> Section:
    category = By("key_category", categories(result))
    found = result.sel(key_category=list(category.names))
    draw = curves(
        found,
        Curve("weight_total", panel="Sum of α", by=category),
        Curve("weighted_norm_total", panel="Sum of ‖αf(x)‖", by=category),
    )
    lengths = Map("vector_norm_by_category", by=category, scale="norm", unit="‖f(x)‖")
    return Section(
        "categories",
        "What each category gets",
        "The sum over the tokens of a category of the weights, and of the lengths of the weighted "
        "vectors, averaged over queries and texts; low and high are the ends of the interval of "
        "95% over texts, means over heads.",
        SOURCE.format("Figures 3 and 4"),
        [
            Drawing("categories", "", "Sums of weights and of weighted lengths by layer.", draw),
            Drawing(
                "lengths", "Mean ‖f(x)‖ by head.", "Head maps of lengths.", maps(found, lengths)
            ),
        ],
        [
            columns(
                "categories",
                "Means over heads",
                found,
                ("layer", By("key_category", categories(result), "category")),
                *(
                    Columns(name, label=label, interval=True)
                    for name, label in (
                        ("weight_total", "sum of α"),
                        ("weighted_norm_total", "sum of ‖αf(x)‖"),
                        ("vector_norm_by_category", "mean ‖f(x)‖"),
                    )
                ),
            )
        ],
    )


def _frequency(result: xr.Dataset) -> Section:
    title = "Spearman's ρ with the frequency rank"
    draw = curves(result, Curve("frequency_spearman_by_head", panel=title, by=QUANTITY))
    return Section(
        "frequency",
        "Frequent tokens",
        "The rank of a token by frequency (1 is the most frequent) against the weight that it "
        "receives and the length of its vector. Above zero, rare tokens get more.",
        SOURCE.format("Figure 6"),
        [Drawing("frequency", "", "Correlations with frequency by layer.", draw)],
        [
            columns(
                "frequency",
                title,
                result,
                QUANTITY,
                Columns("frequency_spearman", label="Spearman's ρ"),
                Columns("frequency_spearman_count", ",d", "tokens", whole=True),
            )
        ],
    )
