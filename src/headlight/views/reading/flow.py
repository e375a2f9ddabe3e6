"""Origin of the tokens of one text, by each method, as a page."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of
from headlight.findings.candidates import (
    are_mostly_unknown,
    differ,
    largest_said,
    of_template,
    unknown,
)
from headlight.findings.flow import after
from headlight.findings.phrases import listed, percent, plural
from headlight.findings.segment_sums import sums_of
from headlight.findings.token_names import note_of_places, special
from headlight.settings.flow import METHODS, foremost
from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.number_formats import percent_text
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.reading.flow_over_picture import over_picture, patches, title_of_picture
from headlight.views.titles import model_name, shortened, text_title

NAMED = 3
"""Tokens that a sentence names."""

BARS = 8
"""Sources that have a bar of their own."""

NOT_SAID = "Nothing is said of sources: the tokenizer does not know most of these tokens."
"""Sentence in the place of findings where most tokens are unknown."""


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


# ---------------------------------------------------------------- sentences


@dataclass(frozen=True, slots=True)
class _Source:
    """Source of the followed token: an input token, or all that the title does not name together.

    Attributes:
        name: Name in a sentence: ``“had”``, ``the first token``.
        share: Share of the followed token.
        is_named: Whether it is a single token that a title may name.
    """

    name: str
    share: float
    is_named: bool = True


def headline(result: xr.Dataset) -> Headline:
    """Return what the followed token is made of, by one method, and the largest sources."""
    name, kind = foremost(_methods(result)), "where a token comes from"
    method = METHODS[name]
    text = shortened(text_title(result.attrs), 80)
    read = f"{model_name(result.attrs)} reads “{text}”; shares are by {method.label}"
    read += f" ({method.papers})."
    if are_mostly_unknown(result, "query_token"):
        return Headline(NOT_SAID, read, kind=kind)
    if patches(result):
        names = [name, *(other for other in _methods(result) if other != name)]
        return Headline(_title(result), read, [over_picture(result, names, followed(result))], kind)
    token = labels_of(result, "query_token")[followed(result)]
    sources = _sources(result, name)
    shown, rest = sources[:BARS], sources[BARS:]
    if rest:
        total = sum(source.share for source in rest)
        shown = [*shown, _Source(plural(len(rest), "smaller source"), total, is_named=False)]
    own = _Source(f"“{token}” itself", _own_share(result, name))
    values = {source.name: source.share for source in (own, *shown)}
    references = [own.name, *(source.name for source in shown[BARS:])]
    bars = value_bars(values, percent, references, "norm")
    title = _title(result)
    said = " ".join([title, *(bar.label for bar in bars)])
    picture = BarList(f"{after(result)}: what “{token}” is made of", bars, _others(result, name))
    read += note_of_places(result, "query_token", said)
    return Headline(title, read, [picture], kind)


def _title(result: xr.Dataset) -> str:
    """Return the own share of the followed token, and its largest sources."""
    name = foremost(_methods(result))
    if patches(result):
        return title_of_picture(result, name, followed(result))
    token, own = labels_of(result, "query_token")[followed(result)], _own_share(result, name)
    sentence = f"{after(result)} “{token}” is {percent(own)} itself"
    sources = _sources(result, name)
    named = next((at for at, source in enumerate(sources) if source.is_named), None)
    # Where nothing can be named, what is left is told: special tokens, or the first.
    told = sources[: 1 if named is None else named + 1]
    if not told:
        return f"{sentence}."
    first, *others = (f"{percent(source.share)}{{}} from {source.name}" for source in told)
    parts = [first.format(" comes"), *(other.format("") for other in others)]
    return f"{sentence}; {listed(parts)}."


def _own_share(result: xr.Dataset, name: str) -> float:
    place = followed(result)
    return float(result["share"].sel(map=name).isel(layer=-1, query=place, key=place))


def _sources(result: xr.Dataset, name: str) -> list[_Source]:
    """Return the sources of the followed token but itself, the largest first.

    Special and unknown tokens and the template of a chat are together, and no title names them.
    """
    place, labels = followed(result), labels_of(result, "query_token")
    shares = result["share"].sel(map=name).isel(layer=-1, query=place).values
    groups = {
        f"the first token (“{labels[0]}”)": [0] if result.attrs["kind"] == "decoder" else [],
        "special tokens": [*special(result, "query"), *of_template(result, "key_segment")],
        "unknown tokens": unknown(result, "query_token"),
    }
    seen, sources = {place}, []
    for group, places in groups.items():
        if places := [at for at in places if at not in seen]:
            sources.append(_Source(group, float(shares[places].sum()), is_named=False))
            seen.update(places)
    sources += [
        _Source(f"“{label}”", float(shares[at]))
        for at, label in enumerate(labels)
        if at not in seen and shares[at] > 0
    ]
    return sorted(sources, key=lambda source: -source.share)


def _others(result: xr.Dataset, name: str) -> str:
    """Return which largest source other methods have, where it is not that of the title."""
    largest = next(iter(_sources(result, name)), None)
    said: dict[str, list[str]] = {}
    for other in _methods(result):
        first = next(iter(_sources(result, other)), None)
        if other == name or first is None or largest is None:
            continue
        if first.name != largest.name or differ(first.share, largest.share):
            named = said.setdefault(first.name, [])
            named.append(f"{METHODS[other].label} ({percent(first.share)})")
    sources = "; ".join(f"{source} by {listed(methods)}" for source, methods in said.items())
    return f"Largest source by other methods: {sources}." if said else ""


def findings(result: xr.Dataset) -> list[str]:
    """Return the title, and by each method the largest input tokens of one token."""
    if are_mostly_unknown(result, "query_token"):
        return [NOT_SAID]
    return [_title(result), *_by_method(result)]


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
