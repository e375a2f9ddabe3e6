"""Explanation of why a head attends, as tables, a page and in words."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of
from headlight.views.number_formats import MINUS
from headlight.views.parts import Drawing, Section, Summary, Table
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.reading.prediction import left_out, signed, with_left_out
from headlight.vocabulary import head_name

DRAWN = 15
"""Parts that are drawn, the largest ones."""
_KINDS = {"feed_forward": "feed-forward", "bias": "bias", "other": "other"}


def frame_of(explanation: xr.Dataset, side: str) -> pd.DataFrame:
    """Return the parts of a side, the largest first.

    Args:
        explanation: Explanation of a cell.
        side: Side of the cell, ``query`` or ``key``.
    """
    here = explanation.isel(part_number=(explanation["side"] == side).values)
    labels, layers = labels_of(explanation, "token_text"), explanation["site_layer"].values.tolist()
    by_token = explanation["head_part"].sel(of=side).values
    rows = []
    for number in range(here.sizes["part_number"]):
        part = here.isel(part_number=number)
        kind, layer, head = str(part["kind"].values), int(part["layer"]), int(part["head"])
        source, name = "", str(part["name"].values)
        if kind == "head":
            of_head = by_token[layers.index(layer), head]
            # The token that it takes most from has the sign of the whole.
            of_tokens = of_head * np.sign(float(part["part"]))
            source, name = labels[int(np.nanargmax(of_tokens))], head_name(layer, head)
        elif layer >= 0 and kind != "bias":
            name = f"{_KINDS[kind]} {layer}"
        rows.append(
            {"part": name, "kind": kind, "takes from": source, "score": float(part["part"])}
        )
    frame = pd.DataFrame(rows)
    order = frame["score"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def sentence(explanation: xr.Dataset) -> str:
    """Return the cell, its weight and score, and the largest parts of both sides and of heads."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    query, key = labels[int(about["of_query"])], labels[int(about["of_key"])]
    head = head_name(int(about["of_layer"]), int(about["of_head"]))
    text = (
        f"{head} attends from “{query}” to “{key}” with {float(explanation['weight']):.1%} of its "
        f"weight; the score is {_number(float(explanation['score']))}."
    )
    for side, token in (("key", key), ("query", query)):
        frame = frame_of(explanation, side)
        parts = [_said(frame.iloc[0])]
        if len(heads := frame[frame["kind"] == "head"]) and frame.iloc[0]["kind"] != "head":
            parts.append(f"of heads {_said(heads.iloc[0])}")
        text += f" For the {side} “{token}” the largest part is {'; '.join(parts)}."
    return text


def _said(row: pd.Series) -> str:
    name = f"the bias {row['part']}" if row["kind"] == "bias" else str(row["part"])
    source = f", mostly from “{row['takes from']}”" if row["takes from"] else ""
    return f"{name}: {signed(row['score'], 2)}{source}"


def findings(explanation: xr.Dataset) -> list[str]:
    """Return the cell, and the largest parts of either side."""
    return [sentence(explanation)]


def summary(explanation: xr.Dataset) -> Summary:
    """Return the score and the weight."""
    return {name: float(explanation[name]) for name in ("score", "weight")}


def sections(explanation: xr.Dataset) -> list[Section]:
    """Return the parts of the key and of the query, the largest parts first."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    parts = []
    for side, other in (("key", "query"), ("query", "key")):
        frame, token = frame_of(explanation, side), labels[int(about[f"of_{side}"])]
        title = f"What was written for the {side} “{token}”"
        parts.append(
            Section(
                side,
                title,
                f"What embeddings, earlier heads, feed-forward layers and biases add to the score, "
                f"with the {other} as it is and statistics of norms as constants. Of a head: the "
                "token that it takes most from.",
                "Elhage et al. (2021), for frozen norms",
                [_bars(side, frame)],
                [Table(side, title, frame, {"score": "+.2f"}, sums=("score",))],
            )
        )
    return parts


def _bars(side: str, frame: pd.DataFrame) -> Drawing:
    """Return the bars of the largest parts of a side."""
    names = [
        f"{row['part']} from {row['takes from']}" if row["takes from"] else str(row["part"])
        for row in frame.head(DRAWN).to_dict("records")
    ]
    label = with_left_out("score", left_out(frame["score"].iloc[DRAWN:], "smaller part"))
    rows = [
        BarRow(name, [Mark("score", value)])
        for name, value in zip(names, frame["score"].head(DRAWN).tolist(), strict=True)
    ]
    return Drawing(
        f"{side}-parts", "", f"Bars of parts of the {side}.", lambda: bars(rows, x_label=label)
    )


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
