"""Sections 3.2 and 3.3: null spaces of attention, and a counterexample."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020.attention.results import (
    PARAGRAPHS,
    ROWS,
    bias_note,
    load_alternatives,
    load_identifiability,
)
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.naming import count_heads, frame_of, percent
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import text_notes
from headlight_papers.papers.writer import ExhibitWriter

BOUND = "#f0a500"
"""The colour of what a dimension cannot be below, light enough to be seen over a dark line."""


@exhibit(
    "section-3",
    "Attention cannot be told from the output",
    "Brunner et al. (2020), Sections 3.2 and 3.3",
)
def section_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Null spaces against their bounds, and alternatives that the model cannot tell apart."""
    found, tried = load_identifiability(reproduction), load_alternatives(reproduction)
    heads = count_heads(found["rank_by_length"])
    table = _null_table(found)
    most = float(tried["difference"].max())
    rows = frame_of({str(name): values for name, values in tried.data_vars.items()})
    return Section(
        explanation="Above: dimensions of the left null spaces of T and of [T, 1], T with a column "
        "of ones, by the length of the text, beside what they cannot be below. Below, a "
        "counterexample: in the first head of every layer, attention is replaced by other "
        "distributions with the same output, and the model is run with them. random: along a "
        "random direction of LN([T, 1]) to its end (Eq. 7), in every row; farthest: the largest "
        f"total variation that repeated linear programs find, in {ROWS} rows.",
        drawings=[
            writer.curves(
                _means(found),
                *_dimensions(float(found["null_dimension"].mean(("layer", "head")).max())),
                caption="Dimension of the null spaces by length, means over texts and heads.",
                alternative="; ".join(
                    f"{row['tokens']:.0f} tokens: {row['dim LN(T)']:.1f}"
                    for row in table.to_dict("records")
                ),
            )
        ],
        tables=[
            writer.table(
                table,
                f"By length, means over {heads} heads",
                formats=dict.fromkeys(table.columns[2:], ".1f"),
                name="null-spaces",
            ),
            writer.table(
                rows,
                "Alternatives of the first head of each layer",
                formats={"difference": ".1e", "rounding": ".1e", "mean": ".3f", "most": ".3f"},
                note="mean and most: total variation of the changed rows; difference: largest "
                "change of an output of the model; rounding: the same with the model's own "
                "attention put in its own place; size: the largest output.",
                name="alternatives",
            ),
        ],
        comparisons=[
            Comparison(
                "texts and heads in which dim LN(T) is just its bound",
                "all, if E, W^V and H have full rank",
                percent(_share(found, "equal_count")),
                "%",
            ),
            Comparison(
                "texts and heads in which dim LN([T, 1]) is just its bound",
                None,
                percent(_share(found, "equal_with_ones_count")),
                "%",
            ),
            Comparison(
                "largest change of an output under alternative attention",
                0,
                None if np.isnan(most) else f"{most:.1e}",
                note=f"rounding alone: {float(tried['rounding'].max()):.1e}",
            ),
        ],
        notes=[*text_notes(reproduction, found), PARAGRAPHS, bias_note(reproduction)],
    )


def _share(found: xarray.Dataset, name: str) -> float:
    pairs = float((found["rank_by_length"].notnull() * found["text_count"]).sum())
    return float(found[name].sum()) / pairs


def _means(found: xarray.Dataset) -> xarray.Dataset:
    """Return null spaces by length, means over heads."""
    names = ["rank_by_length", "null_dimension", "null_dimension_with_ones", "bound"]
    names += ["bound_with_ones", "keys_mean", "text_count"]
    return found[names].mean(("layer", "head"))


def _null_table(found: xarray.Dataset) -> pandas.DataFrame:
    """One row per bin of lengths."""
    means = _means(found)
    return pandas.DataFrame(
        {
            "tokens": means["keys_mean"].values,
            "texts": means["text_count"].values.astype(int),
            "rank T": means["rank_by_length"].values,
            "dim LN(T)": means["null_dimension"].values,
            "LN(T) at least": means["bound"].values,
            "dim LN([T, 1])": means["null_dimension_with_ones"].values,
            "LN([T, 1]) at least": means["bound_with_ones"].values,
        }
    )


def _dimensions(largest: float) -> Iterator[Curve]:
    """Side by side, as the two spaces differ by one dimension at most; on the same axes."""
    top = 1.05 * largest or 1.0
    axes: dict[str, Any] = {
        "over": "keys_mean",
        "x_label": "tokens",
        "y_label": "dimension",
        "limits": (-0.05 * top, top),
    }
    for panel, ending in {"LN(T)": "", "LN([T, 1])": "_with_ones"}.items():
        yield Curve(f"null_dimension{ending}", "dimension", panel, marked=True, **axes)
        # Over the other: where they are one, as the paper says, both are seen.
        yield Curve(f"bound{ending}", "bound", panel, colour=BOUND, dashed=True, **axes)
