"""Sections 3.2 and 3.3: null spaces of attention, and a counterexample."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.null_space_results import (
    PARAGRAPHS,
    ROWS,
    bias_note,
    load_alternatives,
    load_identifiability,
)
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of, percent
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import count_heads
from headlight_papers.papers.reproduction import Reproduction

BOUND = "#f0a500"
"""The colour of what a dimension cannot be below, light enough to be seen over a dark line."""


@exhibit("section-3", "Sections 3.2 and 3.3")
def section_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention cannot be told from the output."""
    result, tried = load_identifiability(reproduction), load_alternatives(reproduction)
    heads = count_heads(result["rank_by_length"])
    means = result[list(BY_LENGTH.values())].mean(("layer", "head"))
    table = pandas.DataFrame({label: means[name].values for label, name in BY_LENGTH.items()})
    table["texts"] = table["texts"].astype(int)
    # Texts are counted by their length, and each of them has every head.
    pairs = float((result["rank_by_length"].notnull() * result["text_count"]).sum())
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
                means,
                *_dimensions(float(result["null_dimension"].mean(("layer", "head")).max())),
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
            *(
                Comparison(
                    f"texts and heads in which dim {space} is just its bound",
                    quoted,
                    percent(float(result[name].sum()) / pairs),
                    "%",
                )
                for space, quoted, name in (
                    ("LN(T)", "all, if E, W^V and H have full rank", "equal_count"),
                    ("LN([T, 1])", None, "equal_with_ones_count"),
                )
            ),
            Comparison(
                "largest change of an output under alternative attention",
                0,
                None if np.isnan(most) else f"{most:.1e}",
                note=f"rounding alone: {float(tried['rounding'].max()):.1e}",
            ),
        ],
        notes=[*text_notes(reproduction, result), PARAGRAPHS, bias_note(reproduction)],
    )


BY_LENGTH = {
    "tokens": "keys_mean",
    "texts": "text_count",
    "rank T": "rank_by_length",
    "dim LN(T)": "null_dimension",
    "LN(T) at least": "bound",
    "dim LN([T, 1])": "null_dimension_with_ones",
    "LN([T, 1]) at least": "bound_with_ones",
}
"""Columns of the table, a row for each bin of lengths."""


def _dimensions(largest: float) -> Iterator[Curve]:
    """Yield both dimensions side by side, on the same axes, since they differ by one at most."""
    # A dimension of 0 everywhere still needs an axis.
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
