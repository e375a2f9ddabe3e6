"""Why a head attends, as tables and in a terminal."""

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headlight.findings import labels_of
from headlight.views.numbers import MINUS
from headlight.vocabulary import head_name

_KINDS = {"feed_forward": "feed-forward", "bias": "bias", "other": "other"}


def frame_of(explanation: xr.Dataset, side: str) -> pd.DataFrame:
    """The parts of a side, the largest first.

    Args:
        explanation: of a cell.
        side: ``query`` or ``key``.
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
            source, name = labels[int(abs(of_head).argmax())], head_name(layer, head)
        elif layer >= 0 and kind != "bias":
            name = f"{_KINDS[kind]} {layer}"
        rows.append(
            {"part": name, "kind": kind, "takes from": source, "score": float(part["part"])}
        )
    frame = pd.DataFrame(rows)
    order = frame["score"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def sentence(explanation: xr.Dataset) -> str:
    """The cell, its weight and score, and the head that adds most on the side of the key."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    query, key = labels[int(about["of_query"])], labels[int(about["of_key"])]
    head = head_name(int(about["of_layer"]), int(about["of_head"]))
    said = (
        f"{head} attends from “{query}” to “{key}” with {float(explanation['weight']):.1%} of its "
        f"weight; the score is {_number(float(explanation['score']))}."
    )
    for side, token in (("key", key), ("query", query)):
        frame = frame_of(explanation, side)
        heads = frame[frame["kind"] == "head"]
        if len(heads):
            row = heads.iloc[0]
            said += (
                f" Of heads, {row['part']} adds most for the {side} “{token}”: "
                f"{_number(row['score'])}, mostly from “{row['takes from']}”."
            )
    return said


def explanation_terminal(explanation: xr.Dataset, top: int) -> RenderableType:
    """The largest parts of both sides."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    tables: list[RenderableType] = [Text(sentence(explanation))]
    for side in ("key", "query"):
        frame = frame_of(explanation, side)
        title = Text(f"What was written for the {side} “{labels[int(about[f'of_{side}'])]}”")
        table = Table("part", "takes from", "score", title=title, title_justify="left")
        for row in frame.head(top).itertuples(index=False):
            table.add_row(Text(str(row[0])), Text(str(row[2])), _number(float(row[3])))
        rest = frame["score"].iloc[top:].sum()
        table.add_row(f"{max(len(frame) - top, 0)} smaller parts", "", _number(float(rest)))
        table.add_row("sum", "", _number(float(frame["score"].sum())))
        tables.append(table)
    return Group(*tables)


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
