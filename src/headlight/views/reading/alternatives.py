"""Other attention with the same output, as tables, a page and in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import pieces_of
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.vocabulary import head_name

DRAWN = 3
"""Alternatives that are drawn beside the model's own attention."""


def findings(result: xr.Dataset) -> list[str]:
    """Return how many rows have alternatives, how far these are, and how little outputs change."""
    return [sentence(result)]


def sentence(result: xr.Dataset) -> str:
    """Return the findings in one sentence."""
    about = result.attrs
    head = f"{about['kind']} head {head_name(about['layer'], about['head'])}"
    rows, row_count = int(result["exists"].sum()), int(result["asked"].sum())
    if not rows:
        return (
            f"No other attention of {head} gives the same output: no direction of LN([T, 1]) "
            f"keeps a row of it in the simplex (rows looked at: {row_count})."
        )
    return (
        f"{rows} of {row_count} rows of {head} have other attention of the same output; here up to "
        f"{float(result['total_variation'].max()):.3g} of a row's weight moves, and the "
        f"{about['output']} change by {float(result['output_difference'].max()):.1e} at most "
        f"({about['output_size']:.3g} being the largest)."
    )


def summary(result: xr.Dataset) -> Summary:
    """Return how many rows have alternatives, and how far they are at most."""
    return {
        "rows": int(result["asked"].sum()),
        "rows_with_alternatives": int(result["exists"].sum()),
        "total_variation": float(result["total_variation"].max())
        if result["exists"].any()
        else 0.0,
    }


def sections(result: xr.Dataset) -> list[Section]:
    """Return the rows that were examined, and the attention beside the model's own."""
    drawings = [Drawing("attention", "", sentence(result), lambda: _maps(result))]
    return [
        Section(
            "rows",
            "Other attention of the same output",
            "A row has other attention if a direction of the left null space of [T, 1] keeps its "
            "sum and no weight below 0. Moved: half the sum of the changes of its weights.",
            "Brunner et al. (2020), Section 3.3",
            drawings if result.sizes["alternative"] else [],
            [Table("rows", "Rows that were looked at", _rows(result))],
        )
    ]


def _rows(result: xr.Dataset) -> pd.DataFrame:
    """Return a row for each query that was examined."""
    labels = [piece.label for piece in pieces_of(result, "query_token")]
    here = result.isel(query=result["asked"].values)
    moved = here["total_variation"].values.T
    return pd.DataFrame(
        {
            "query": [f"{query} {labels[query]}" for query in here["query"].values.tolist()],
            "keys": here["keys"].values,
            "rank T": here["rank"].values,
            "rank [T, 1]": here["rank_with_ones"].values,
            "moved": [
                ", ".join(f"{value:.3f}" for value in row) if exists else "none"
                for row, exists in zip(moved, here["exists"].values, strict=True)
            ],
        }
    )


def _maps(result: xr.Dataset) -> Figure:
    """Draw the rows that were examined, of the model and of alternatives, side by side."""
    labels, columns = (
        [piece.label for piece in pieces_of(result, f"{side}_token")] for side in ("query", "key")
    )
    result = result.isel(query=result["asked"].values)
    rows = [labels[query] for query in result["query"].values.tolist()]
    maps = {"the model's own": result["original"].values}
    for number, values in enumerate(result["attention"].values[:DRAWN], 1):
        maps[f"alternative {number}"] = values
    largest = max(float(np.max(values)) for values in maps.values())
    return head_map(
        [
            HeadMap(
                title,
                values,
                rows=rows,
                columns=columns,
                row_label="query",
                column_label="key",
                scale="weight",
                limits=(0.0, largest),
                format=".0%",
            )
            for title, values in maps.items()
        ],
        annotate=False,
    )
