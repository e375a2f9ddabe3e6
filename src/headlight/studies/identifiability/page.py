"""The study of identifiability: null spaces, and how effective attention follows raw attention."""

import numpy as np
import xarray as xr

from headlight.findings.answers import heads
from headlight.views.parts import (
    By,
    Columns,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    columns,
    maps,
    mean_of,
    rounded,
)
from headlight.views.pictures import DensityPanel, Line, LinePanel, density, lines

findings = heads.identifiability
"""In words, which stand first."""

LENGTH = By("length", heading="length from")
SOURCE = "Brunner et al. (2020), {}"
CELLS = 40
"""Of the picture of points, along each side."""


def summary(result: xr.Dataset) -> Summary:
    """Texts, the mean dimension of null spaces, and the mean correlation."""
    weights = result["text_count"]
    correlation = result["effective_correlation"]
    return rounded(
        {
            "texts": int(weights.sum()),
            "null_dimension": mean_of(result["null_dimension"]),
            "rank": mean_of(result["rank"]),
            "effective_correlation": float(correlation.weighted(weights).mean()),
        }
    )


def sections(result: xr.Dataset) -> list[Section]:
    """Null spaces by length, and correlations of raw and effective attention."""
    return [_null_spaces(result), _correlations(result)]


def _null_spaces(result: xr.Dataset) -> Section:
    over = ("layer", "head")

    def draw() -> Figure:
        at = result["keys_mean"].values
        drawn = [
            Line(
                "null space of T",
                at,
                result["null_dimension"].mean(over).values,
                result["null_dimension_min"].min(over).values,
                result["null_dimension_max"].max(over).values,
                "effective",
                marked=True,
            ),
            Line("lower bound", at, result["bound"].mean("layer").values, dashed=True, marked=True),
        ]
        return lines([LinePanel("Null spaces", drawn, "tokens", "dimension")])

    whole = result.mean("length")
    ranks = np.unique(whole["rank"].values[np.isfinite(whole["rank"].values)])
    drawings = []
    if result.sizes["length"] > 1:
        words = "Dimensions of null spaces by length."
        drawings.append(Drawing("null_spaces", "", words, draw))
    if len(ranks) > 1:
        drawn = Map(
            "rank", "Rank of T, mean over lengths", scale="effective", format=".4g", unit=""
        )
        drawings.append(Drawing("ranks", "", "Ranks of T by head.", maps(whole, drawn)))
    same = f" The rank of T is {ranks[0]:.4g} in all heads." if len(ranks) == 1 else ""
    if result.sizes["length"] == 1:
        same += f" All texts are of one length, {float(result['keys_mean'].mean()):.4g} tokens."
    return Section(
        "null-spaces",
        "How much of attention cannot be seen in the output",
        "Attention weights can be changed within the left null space of T, the transformed "
        "values, without any change of the output. For texts longer than a head is wide, the null "
        "space is not empty: its dimension is the length less the rank of T, which is the head "
        "size at most. Rows keep their sum: of changes that leave the sum of a row at 1, which is "
        "one dimension less at most. The band is from the smallest to the largest of all heads and "
        f"texts.{same}",
        SOURCE.format("Section 3.2"),
        drawings,
        [
            columns(
                "null_spaces",
                "By length of the text, means over heads",
                result,
                LENGTH,
                Columns("text_count", label="texts", whole=True),
                Columns("rank", ".4g", "rank of T"),
                Columns("null_dimension", ".4g", "null space"),
                Columns("bound", ".4g", "at least"),
                Columns("null_dimension_with_ones", ".4g", "null space, rows keep their sum"),
                Columns("bound_with_ones", ".4g", "at least, rows keep their sum"),
            )
        ],
    )


def _correlations(result: xr.Dataset) -> Section:
    def draw() -> Figure:
        length, correlation = result["points"].values[:, :2].T
        low, high = float(length.min()), float(length.max())
        edges = np.linspace(low - 0.5, high + 0.5, min(CELLS, int(high - low) + 1) + 1)
        heights = np.linspace(min(0.0, float(correlation.min())), 1.0, CELLS + 1)
        counts, _, _ = np.histogram2d(length, correlation, bins=(edges, heights))
        panel = DensityPanel("", counts, edges, heights, "tokens", "correlation", "effective")
        return density([panel], counted="texts")

    by_head = Map("effective_correlation_by_head", "Correlation by head", scale="effective")
    draw_heads = maps(result.mean("length"), by_head)
    drawings = [Drawing("correlation_heads", "", "Correlations by head.", draw_heads)]
    if result.sizes["length"] > 1 and len(result["points"]):
        drawings.insert(0, Drawing("correlations", "", "Correlations by length.", draw))
    return Section(
        "correlations",
        "How effective attention follows raw attention",
        "The Pearson correlation of the cells of raw and of effective attention. The longer a "
        "text, the more of the raw weights can be without effect. Between low and high lies the "
        "interval of 95% of the mean over texts.",
        SOURCE.format("Figure 1a"),
        drawings,
        [
            columns(
                "correlations",
                "Correlation by length of the text",
                result,
                LENGTH,
                Columns("effective_correlation", label="mean", interval=True),
                Columns("effective_correlation_std", label="σ"),
                Columns("effective_correlation_min", label="smallest"),
                Columns("effective_correlation_max", label="largest"),
                Columns("effective_correlation_count", label="observations", whole=True),
            )
        ],
    )
