"""Sections on ranks of weights, of lengths and of the frequency of tokens."""

import numpy as np
import xarray as xr

from headlight.views.parts import (
    By,
    Columns,
    Curve,
    Drawing,
    Figure,
    Map,
    Section,
    columns,
    curves,
    maps,
)
from headlight.views.parts.result_facts import categories
from headlight.views.pictures import density, weight_and_length

KOBAYASHI = "Kobayashi et al. (2020), {}"
QUANTITY = By("quantity", {"weight": "α received", "norm": "‖f(x)‖"})


def ranks_section(result: xr.Dataset) -> Section:
    """Return rank correlations of weights and lengths, by category of the key."""
    names = categories(result, "key_group")
    category = By("key_group", names, "category")
    part = result.sel(key_group=list(names))
    title = "Spearman's ρ of α and ‖f(x)‖"
    draw = curves(part, Curve("weight_norm_spearman_by_head", panel=title, by=category))

    def draw_pairs() -> Figure:
        pairs = {label: _pairs(result, name) for name, label in names.items()}
        longest = max(float(rows[:, 1].max(initial=0.0)) for rows in pairs.values())
        return density(
            [weight_and_length(label, rows, longest) for label, rows in pairs.items() if rows.size]
        )

    drawings = [Drawing("correlations", "", "Correlations by layer and category.", draw)]
    if np.isfinite(result["pairs_sample"]).any():
        words = "Pairs of a weight and a length, drawn at random."
        drawings.append(Drawing("pairs", words, words, draw_pairs))
    lengths = Map("vector_norm_by_category", by=category, scale="norm", unit="‖f(x)‖")
    words = "Head maps of lengths."
    drawings.append(Drawing("lengths", "Mean ‖f(x)‖ by head.", words, maps(part, lengths)))
    return Section(
        "ranks",
        "Do weights and lengths go together?",
        "Spearman's ρ of α and ‖f(x)‖: in the picture within each head, in the table also over "
        "the pairs of all heads pooled, where heads of long and of short vectors are mixed. Below "
        "zero, a token that gets much weight offers a short vector, so that attention to it moves "
        "little. Where the two differ, it is heads that differ, and not the tokens within one.",
        KOBAYASHI.format("Table 2 and Figures 4 and 5"),
        drawings,
        [
            columns(
                "correlations",
                title,
                part,
                category,
                Columns("weight_norm_spearman", label="all heads pooled"),
                Columns("weight_norm_spearman_by_head", label="within a head, mean"),
                Columns("weight_norm_spearman_count", ",d", "pairs", whole=True),
                Columns("vector_norm_by_category", label="mean ‖f(x)‖", interval=True),
            )
        ],
    )


def _pairs(result: xr.Dataset, category: str) -> np.ndarray:
    pairs = result["pairs_sample"].sel(key_group=category).transpose("sample", "quantity").values
    return np.asarray(pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] > 0)])


def frequency_section(result: xr.Dataset) -> Section:
    """Return rank correlations with the frequency of tokens."""
    title = "Spearman's ρ with the frequency rank"
    draw = curves(result, Curve("frequency_spearman_by_head", panel=title, by=QUANTITY))
    return Section(
        "frequency",
        "Frequent tokens",
        "The rank of a token by frequency (1 is the most frequent) against the weight that it "
        "receives and the length of its vector. Above zero, rare tokens get more.",
        KOBAYASHI.format("Figure 6"),
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
