"""Other attention with the same output, as tables, a page and in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import pieces_of
from headlight.findings.phrases import percent
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import head_name

MOST_BARS = 8
"""Rows that are drawn beside the title."""

DRAWN = 3
"""Alternatives that are drawn beside the model's own attention."""


def findings(result: xr.Dataset) -> list[str]:
    """Return how many rows have alternatives, how far these are, and how little outputs change."""
    about = result.attrs
    rows, row_count = int(result["exists"].sum()), int(result["asked"].sum())
    if not rows:
        return [
            title(result),
            "No direction of LN([T, 1]) keeps a row of it in the simplex (rows looked at: "
            f"{row_count}).",
        ]
    return [
        title(result),
        f"The {about['output']} change by {float(result['output_difference'].max()):.1e} at most "
        f"({about['output_size']:.3g} being the largest).",
    ]


def sentence(result: xr.Dataset) -> str:
    """Return the findings as one short text."""
    return " ".join(findings(result))


def title(result: xr.Dataset) -> str:
    """Return whether other attention of the head gives the same output, and how far it is."""
    about = result.attrs
    head = f"{about['kind']} head {head_name(about['layer'], about['head'])}"
    rows, row_count = int(result["exists"].sum()), int(result["asked"].sum())
    if not rows:
        return f"No other attention of {head} gives the same output."
    moved = percent(float(result["total_variation"].max()))
    which = f"All {rows}" if rows == row_count else f"{rows} of {row_count}"
    return (
        f"{which} rows of {head} have other attention with the same output: up to {moved} of a "
        "row's weight moves."
    )


def headline(result: xr.Dataset) -> Headline:
    """Return whether there is other attention, beside the model's own."""
    about = result.attrs
    text = shortened(text_title(about), 60)
    read = f"{model_name(about)} reading “{text}”."
    if result.sizes["alternative"]:
        change = float(result["output_difference"].max())
        read = (
            f"{read[:-1]}; its {about['output']} change by {change:.0e} at most, of "
            f"{about['output_size']:.3g}."
        )
    pictures = [_bars(result)] if result.sizes["alternative"] else []
    return Headline(title(result), read, pictures, kind="other attention, same output")


def _bars(result: xr.Dataset) -> BarList:
    """Return the weight that moves in the rows where most does."""
    labels = [piece.label for piece in pieces_of(result, "query_token")]
    moved = result["total_variation"].max("alternative").values
    largest = [at for at in np.argsort(-moved, kind="stable").tolist() if moved[at] > 0]
    values = {f"{at} {labels[at]}": float(moved[at]) for at in sorted(largest[:MOST_BARS])}
    return BarList("Weight that moves, by the attending token", value_bars(values, percent))


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
