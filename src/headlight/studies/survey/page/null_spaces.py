"""Section on how much of attention cannot be seen in the output."""

import numpy as np
import xarray as xr

from headlight.views.parts import By, Columns, Drawing, Figure, Map, Section, columns, maps
from headlight.views.pictures import DensityPanel, Line, LinePanel, density, lines

LENGTH = By("length", heading="length from")
CELLS = 40
"""Number of cells along each side of the picture of points."""


def null_spaces_section(result: xr.Dataset) -> Section:
    """Return dimensions of null spaces by the length of the text."""
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

    def draw_points() -> Figure:
        length, correlation = result["points"].values.T
        low, high = float(length.min()), float(length.max())
        edges = np.linspace(low - 0.5, high + 0.5, min(CELLS, int(high - low) + 1) + 1)
        heights = np.linspace(min(0.0, float(correlation.min())), 1.0, CELLS + 1)
        counts, _, _ = np.histogram2d(length, correlation, bins=(edges, heights))
        panel = DensityPanel("", counts, edges, heights, "tokens", "correlation", "effective")
        return density([panel], counted="texts")

    whole = result[["rank_by_length"]].mean("length")
    of_heads = whole["rank_by_length"].values
    ranks = np.unique(of_heads[np.isfinite(of_heads)])
    drawings = []
    if result.sizes["length"] > 1:
        words = "Dimensions of null spaces by length."
        drawings.append(Drawing("null_spaces", "", words, draw))
    if len(ranks) > 1:
        title = "Rank of T, mean over lengths"
        drawn = Map("rank_by_length", title, scale="effective", format=".4g", unit="")
        drawings.append(Drawing("rank_heads", "", "Ranks of T by head.", maps(whole, drawn)))
    if result.sizes["length"] > 1 and len(result["points"]):
        words = "Correlation of raw and effective attention of texts, by length."
        drawings.append(Drawing("correlation_points", words, words, draw_points))
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
        f"texts. The correlation is that of the cells of raw and of effective attention.{same}",
        "Brunner et al. (2020), Section 3.2 and Figure 1a",
        drawings,
        [
            columns(
                "null_spaces",
                "By length of the text, means over heads",
                result,
                LENGTH,
                Columns("text_count", label="texts", whole=True),
                Columns("rank_by_length", ".4g", "rank of T"),
                Columns("null_dimension", ".4g", "null space"),
                Columns("bound", ".4g", "at least"),
                Columns("null_dimension_with_ones", ".4g", "null space, rows keep their sum"),
                Columns("bound_with_ones", ".4g", "at least, rows keep their sum"),
                Columns("effective_correlation", label="correlation"),
                Columns("effective_correlation_std", label="σ"),
            )
        ],
    )
