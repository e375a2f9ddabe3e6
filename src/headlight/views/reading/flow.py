"""Origin of the tokens of one text, by each method, as a page."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of
from headlight.findings.candidates import largest_said, of_template, unknown
from headlight.findings.segment_sums import sums_of
from headlight.settings.flow import METHODS
from headlight.views.number_formats import percent_text
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.titles import model_name, shortened, text_title

NAMED = 3
"""Tokens that a sentence names."""


def sections(result: xr.Dataset) -> list[Section]:
    """Return sections on one token by layer, and on all after the last, by each method in turn."""
    names, labels = _methods(result), labels_of(result, "query_token")
    segments = by_segment(result)
    place, layers = followed(result), [str(layer) for layer in result["layer"].values]
    token, last = labels[place], layers[-1]

    def along(name: str) -> Callable[[], Figure]:
        shares = result["share"].sel(map=name).isel(query=place).values
        framed = [(row, place) for row in range(len(layers))]
        return lambda: _drawn(f"{METHODS[name].label}: {token}", shares, layers, labels, framed)

    def whole(name: str) -> Callable[[], Figure]:
        shares = result["share"].sel(map=name).isel(layer=-1).values
        title = f"{METHODS[name].label}, after layer {last}"
        return lambda: _drawn(title, shares, labels, labels, (), row_label="token")

    return [
        Section(
            "layers",
            f"What “{token}” comes from, layer by layer",
            "Each row says which share of the token each input token has after that layer; its own "
            "is framed. Methods differ: compare them before you trust one.",
            drawings=[
                Drawing(f"layers-{name}", "", description, along(name), METHODS[name].label)
                for name, description in zip(names, _by_method(result), strict=True)
            ],
        ),
        Section(
            "tokens",
            f"What all tokens come from, after layer {last}",
            "Rows are tokens after the layer, columns input tokens.",
            drawings=[
                Drawing(
                    f"tokens-{name}",
                    "",
                    f"Shares of input tokens by {METHODS[name].label}.",
                    whole(name),
                    METHODS[name].label,
                )
                for name in names
            ],
        ),
        *(
            [
                Section(
                    "segments",
                    f"What “{token}” comes from, by segment",
                    tables=[
                        Table(
                            "segments",
                            f"Shares of segments in “{token}” after layer {last}",
                            segments,
                            dict.fromkeys(segments.columns[1:], ".1%"),
                        )
                    ],
                )
            ]
            if len(segments)
            else []
        ),
    ]


def by_segment(result: xr.Dataset) -> pd.DataFrame:
    """Return the shares of the followed token by segment; without rows where a text has none."""
    shares = result["share"].isel(layer=-1, query=followed(result))
    sums = {
        METHODS[name].label: sums_of(result, shares.sel(map=name).values)
        for name in _methods(result)
    }
    return pd.DataFrame(sums).rename_axis("segment").reset_index()


def _drawn(
    title: str,
    shares: np.ndarray,
    rows: list[str],
    columns: list[str],
    framed: list[tuple[int, int]] | tuple[()],
    row_label: str = "layer",
) -> Figure:
    head_map_shown = HeadMap(
        title,
        shares,
        rows=rows,
        columns=columns,
        row_label=row_label,
        column_label="input token",
        scale="attribution",
        limits=(0.0, float(shares.max(initial=0.0)) or 1.0),
        format=".0%",
        framed=framed,
    )
    return head_map([head_map_shown], annotate=False)


def _methods(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["map"].values]


def followed(result: xr.Dataset) -> int:
    """Return the token that a prediction is made from: a decoder's last, the first of others."""
    return result.sizes["query"] - 1 if result.attrs["kind"] == "decoder" else 0


def findings(result: xr.Dataset) -> list[str]:
    """Return the text, and by each method the largest input tokens of one token."""
    text = shortened(text_title(result.attrs), 60)
    return [f"{model_name(result.attrs)} reads “{text}”.", *_by_method(result)]


def _by_method(result: xr.Dataset) -> list[str]:
    labels, place = labels_of(result, "query_token"), followed(result)
    last = int(result["layer"].values[-1])
    templates = of_template(result, "key_segment")
    sentences = []
    for name in _methods(result):
        shares = result["share"].sel(map=name).isel(layer=-1, query=place).values
        most = largest_said(shares, [*unknown(result, "query_token"), *templates])
        most = most or largest_said(shares, ())  # where there is nothing else
        parts = [f"{percent_text(float(shares[key]))} of “{labels[key]}”" for key in most[:NAMED]]
        sentences.append(
            f"By {METHODS[name].label}, “{labels[place]}” after layer {last} has "
            f"{', '.join(parts)}."
        )
    return sentences


def summary(result: xr.Dataset) -> Summary:
    """Return the text, and the share of a token in itself."""
    place = followed(result)
    share_of_itself = result["share"].isel(layer=-1, query=place, key=place)
    return {"text": shortened(text_title(result.attrs), 60)} | {
        f"own_{name}": float(share_of_itself.sel(map=name)) for name in _methods(result)
    }
