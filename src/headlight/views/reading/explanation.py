"""Explanation of why a head attends, in a sentence, as bars and as tables of all parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of
from headlight.findings.candidates import NOT_UNDERSTOOD, are_mostly_unknown
from headlight.findings.phrases import percent, plural
from headlight.findings.token_names import note_of_places
from headlight.views.headline import BarList, Headline, ValueBar, signed_bars
from headlight.views.number_formats import signed
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import BarRow, HeadMap, Mark, bars, head_map
from headlight.views.reading.prediction import left_out, with_left_out
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import head_name

DRAWN = 15
"""Parts in the picture of all parts, the largest ones."""

BARS = {"key": 5, "query": 3, "pairs": 5}
"""Parts of a side, and pairs of parts, that have a bar of their own in the headline."""

MOST_PAIRS = 100
"""Pairs of parts in the table of a page, the largest ones."""

MAPPED = 8
"""Parts of a side in the map of pairs; its last row and column are the sums of all others."""

ALONE, MOSTLY = 0.95, 0.5
"""Shares of a head's part above which it comes from one token, or mostly from it."""

_KINDS = {"feed_forward": "feed-forward", "bias": "bias", "other": "other"}
_SCORE = (
    "The score is query times key, before the softmax. A part that is the same at every key moves "
    "no weight."
)
_DIFFERENCE = "What is the same at both keys cancels, and moves no weight between them."


@dataclass(frozen=True, slots=True)
class _Part:
    """Part of one side of a score.

    Attributes:
        name: Name of the head, layer, embedding or parameter.
        kind: Kind of the part.
        score: Addend of the score.
        source: Token from which a head takes most; empty for other parts.
        share: Share of a head's addend that comes from that token.
    """

    name: str
    kind: str
    score: float
    source: str = ""
    share: float = 0.0

    @property
    def origin(self) -> str:
        """Return where a head's addend comes from, behind a blank; nothing without such a token."""
        if self.share <= MOSTLY:
            return ""
        is_alone = ALONE <= self.share <= 2 - ALONE
        return f"{'' if is_alone else ', mostly'} from “{self.source}”"


def part_label(kind: str, layer: int, head: int, name: str) -> str:
    """Return the label of a part: ``L16H0``, ``feed-forward 3``, or the name that it has."""
    if kind == "head":
        return head_name(layer, head)
    is_layer = layer >= 0 and kind != "bias"
    return f"{_KINDS[kind]} {layer}" if is_layer else name


def _parts(explanation: xr.Dataset, side: str) -> list[_Part]:
    """Return the parts of a side, the largest first."""
    here = explanation.isel(part_number=(explanation["side"] == side).values)
    labels, layers = labels_of(explanation, "token_text"), explanation["site_layer"].values.tolist()
    by_token = explanation["head_part"].sel(of=side).values
    columns = (here[name].values.tolist() for name in ("name", "kind", "part", "layer", "head"))
    parts = []
    for name, kind, score, layer, head in zip(*columns, strict=True):
        if kind == "head":
            # The token that it takes most from has the sign of the whole.
            of_tokens = by_token[layers.index(layer), head] * np.sign(score)
            place = int(np.nanargmax(of_tokens))
            share = float(of_tokens[place] / abs(score)) if score else 0.0
            parts.append(_Part(head_name(layer, head), kind, score, labels[place], share))
        else:
            parts.append(_Part(part_label(kind, layer, head, name), kind, score))
    return sorted(parts, key=lambda part: -abs(part.score))


def frame_of(explanation: xr.Dataset, side: str) -> pd.DataFrame:
    """Return the parts of a side, the largest first.

    Args:
        explanation: Explanation of a cell.
        side: Side of the cell, ``query`` or ``key``.
    """
    return pd.DataFrame(
        [
            {
                "part": part.name,
                "kind": part.kind,
                "takes from": part.source,
                "score": part.score,
            }
            for part in _parts(explanation, side)
        ]
    )


def frame_of_pairs(explanation: xr.Dataset) -> pd.DataFrame:
    """Return the pairs of a part of the query and one of the key, the largest first.

    Against another key, the largest are those of the difference.
    """
    product = explanation["product"].values
    difference = explanation["difference"].values if "difference" in explanation else None
    ranked = product if difference is None else difference
    order = np.argsort(-np.abs(ranked), axis=None, kind="stable")
    queries, keys = np.unravel_index(order, product.shape)
    frame = pd.DataFrame(
        {
            "query part": explanation["query_part"].values[queries],
            "key part": explanation["key_part"].values[keys],
            "score": product.flat[order],
        }
    )
    if difference is not None:
        frame["other score"] = (product - difference).flat[order]
        frame["difference"] = difference.flat[order]
    return frame


# ---------------------------------------------------------------- sentences


def headline(explanation: xr.Dataset) -> Headline:
    """Return the largest part of the score as the title, and bars of both sides."""
    about, kind = explanation.attrs, "why a head attends"
    name = head_name(int(about["of_layer"]), int(about["of_head"]))
    read = (
        f"{model_name(about)} reads “{shortened(text_title(about), 80)}”; {name} is head "
        f"{about['of_head']} of layer {about['of_layer']}, both counted from 0."
    )
    if are_mostly_unknown(explanation, "token_text"):
        return Headline(NOT_UNDERSTOOD, read, kind=kind)
    query, key = _ends(explanation)
    score = signed(float(explanation["score"]))
    pictures = [
        BarList(
            f"The score {score}, by what was written at “{key}”",
            _bars(explanation, "key", key),
            _SCORE,
        ),
        BarList(
            f"The same score, by what was written at “{query}”", _bars(explanation, "query", query)
        ),
    ]
    if "difference" in explanation:
        pictures = _bars_of_difference(explanation)
    title = _title(explanation)
    said = [title, *(bar.label for picture in pictures for bar in picture.bars)]
    read += note_of_places(explanation, "token_text", " ".join(said))
    return Headline(title, read, pictures, kind)


def _title(explanation: xr.Dataset) -> str:
    """Return the cell, its weight, and the largest part of the key.

    Biases come last, as they are the same at every key, or nearly so.  Against another key, return
    both weights, and the part of the keys that makes most of the difference.
    """
    if "difference" in explanation:
        return _title_of_difference(explanation)
    about, score = explanation.attrs, float(explanation["score"])
    query, key = _ends(explanation)
    head = head_name(int(about["of_layer"]), int(about["of_head"]))
    at = "itself" if about["of_query"] == about["of_key"] else f"“{key}”"
    looks = (
        f"{head} looks from “{query}” at {at} ({percent(float(explanation['weight']))} of its "
        "weight)"
    )
    if about["kind"] == "decoder" and about["of_query"] == 0:
        return f"{looks}: the first token has no other to look at."
    parts = _parts(explanation, "key")
    if not any(part.kind in ("head", "feed_forward") for part in parts):
        return (
            f"{looks}: before this layer there are embeddings alone, so that the two tokens and "
            "their places make the whole score."
        )
    part = next(part for part in parts if part.kind != "bias")
    aside = "biases aside, " if parts[0].kind == "bias" else ""
    against = "works against it: " if part.score * score < 0 else "is "
    return (
        f"{looks}: {aside}the largest part of the score, {signed(part.score)} in a sum of "
        f"{signed(score)}, {against}{_clause(part, key)}."
    )


def _title_of_difference(explanation: xr.Dataset) -> str:
    about, labels = explanation.attrs, labels_of(explanation, "token_text")
    head = head_name(int(about["of_layer"]), int(about["of_head"]))
    query = labels[int(about["of_query"])]
    key, other = (
        "itself" if about[name] == about["of_query"] else f"“{labels[int(about[name])]}”"
        for name in ("of_key", "of_other_key")
    )
    weight, other_weight = float(explanation["weight"]), float(explanation["other_weight"])
    looks = "at {} rather than at {}" if weight >= other_weight else "less at {} than at {}"
    part, value = next(iter(_difference_by_key_part(explanation).items()))
    difference = float(explanation["score"] - explanation["other_score"])
    whole = f"the difference between the scores ({signed(difference)} in all)"
    what = (
        f"adds {signed(value)} to {whole}"
        if value * difference > 0
        else f"works against {whole}, by {signed(value)}"
    )
    origin = {written.name: written.origin for written in _parts(explanation, "key")}.get(part, "")
    where = f"the keys (at {key}{origin})" if origin else "the keys"
    return (
        f"{head} looks from “{query}” {looks.format(key, other)} ({percent(weight)} against "
        f"{percent(other_weight)}): {part} in {where} {what}."
    )


def _difference_by_key_part(explanation: xr.Dataset) -> dict[str, float]:
    """Return what each part of the keys adds to the difference, the largest first.

    The query is the same for both keys, so that its parts are summed.
    """
    sums = explanation["difference"].sum("query_part").to_series()
    order = np.argsort(-np.abs(sums.to_numpy()), kind="stable")
    return {str(part): float(value) for part, value in sums.iloc[order].items()}


def _ends(explanation: xr.Dataset) -> tuple[str, str]:
    """Return the labels of the query and of the key."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    return labels[int(about["of_query"])], labels[int(about["of_key"])]


def _clause(part: _Part, token: str) -> str:
    """Return a part in a sentence: ``what L16H0 brought there from “met (1)”``."""
    if part.kind == "head":
        return f"what {part.name} brought there{part.origin or ' from several tokens'}"
    if part.kind in ("token", "position"):
        return f"the {_label(part, token)}"
    return f"what {part.name.replace('feed-forward', 'feed-forward layer')} wrote there"


def _label(part: _Part, token: str) -> str:
    """Return the label of a bar: ``L16H0 from “met (1)”``."""
    embeddings = {
        "token": f"embedding of “{token}”",
        "position": f"embedding of the position of “{token}”",
    }
    return embeddings.get(part.kind, f"{part.name}{part.origin}")


def findings(explanation: xr.Dataset) -> list[str]:
    """Return the title, and the largest parts of both sides, with biases, and of heads.

    Against another key, return the title and the largest pairs of parts.
    """
    if are_mostly_unknown(explanation, "token_text"):
        return [NOT_UNDERSTOOD]
    sentences = [_title(explanation)]
    if "difference" in explanation:
        rows = frame_of_pairs(explanation).iloc[:3].to_dict("records")
        pairs = (f"{_pair_label(row)} ({signed(row['difference'])})" for row in rows)
        return [*sentences, f"The largest pairs, query × key, are {', '.join(pairs)}."]
    query, key = _ends(explanation)
    for side, token in (("key", key), ("query", query)):
        parts = _parts(explanation, side)
        said = [_said(parts[0])]
        heads = [part for part in parts if part.kind == "head"]
        if heads and parts[0].kind != "head":
            said.append(f"of heads {_said(heads[0])}")
        sentences.append(f"For the {side} “{token}” the largest part is {', '.join(said)}.")
    return sentences


def sentence(explanation: xr.Dataset) -> str:
    """Return the findings as one short text."""
    return " ".join(findings(explanation))


def _said(part: _Part) -> str:
    name = f"the bias {part.name}" if part.kind == "bias" else part.name
    return f"{name}{part.origin} ({signed(part.score)})"


def summary(explanation: xr.Dataset) -> Summary:
    """Return the score and the weight, and those of the other key, if there is one."""
    names = ("score", "weight", "other_score", "other_weight")
    return {name: float(explanation[name]) for name in names if name in explanation}


# ---------------------------------------------------------------- pictures


def _bars(explanation: xr.Dataset, side: str, token: str) -> list[ValueBar]:
    """Return bars of the largest parts, and pale ones of the sums of all others."""
    parts = _parts(explanation, side)
    others = [part for part in parts if part.kind != "bias"]
    shown, smaller = others[: BARS[side]], others[BARS[side] :]
    values = {_label(part, token): part.score for part in shown}
    sums = {
        plural(len(smaller), "smaller part"): smaller,
        "all biases": [part for part in parts if part.kind == "bias"],
    }
    totals = {label: sum(part.score for part in rest) for label, rest in sums.items() if rest}
    return signed_bars([*(values | totals).items()], signed, totals)


def _pair_label(row: Mapping[Any, Any]) -> str:
    return f"{row['query part']} × {row['key part']}"


def _bars_of_difference(explanation: xr.Dataset) -> list[BarList]:
    """Return bars of the largest parts of the keys, and of the largest pairs, of a difference."""
    parts, frame = _difference_by_key_part(explanation), frame_of_pairs(explanation)
    pairs = {_pair_label(row): row["difference"] for row in frame.to_dict("records")}
    difference = signed(frame["difference"].sum())
    return [
        BarList(
            f"The difference {difference}, by what was written into the keys",
            _largest_bars(parts, BARS["key"], "smaller part"),
            _DIFFERENCE,
        ),
        BarList(
            "The same difference, by what is in the query × in the keys",
            _largest_bars(pairs, BARS["pairs"], "smaller pair"),
        ),
    ]


def _largest_bars(values: Mapping[str, float], number: int, noun: str) -> list[ValueBar]:
    """Return bars of the first numbers, and a pale one of the sum of all others."""
    bars = list(values.items())
    shown, smaller = bars[:number], [value for _, value in bars[number:]]
    rest = {plural(len(smaller), noun): sum(smaller)} if smaller else {}
    return signed_bars([*shown, *rest.items()], signed, rest)


def _section_of_pairs(explanation: xr.Dataset) -> Section:
    """Return the pairs of parts of the difference, as a map and as a table."""
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    key, other = (labels[int(about[name])] for name in ("of_key", "of_other_key"))
    columns = {"score": f"at “{key}”", "other score": f"at “{other}”"}
    frame = frame_of_pairs(explanation).rename(columns=columns)
    title = f"The score at “{key}” minus that at “{other}”, by pairs"
    numbers = dict.fromkeys([*columns.values(), "difference"], "+.2f")
    return Section(
        "pairs",
        title,
        "Products of what was written for the query and what was written for the key: at either "
        "key, and the difference.",
        "Elhage et al. (2021)",
        [Drawing("pairs", "", "The largest parts of both sides.", lambda: _map(explanation))],
        [Table("pairs", title, frame, numbers, sums=("difference",), most=MOST_PAIRS)],
    )


def _map(explanation: xr.Dataset) -> Figure:
    """Return the map of the largest parts of both sides, with the sums of all others."""
    values, labels = explanation["difference"].values, []
    for side in ("query", "key"):
        largest = np.argsort(-np.abs(values).sum(1), kind="stable")
        rows, others = values[largest[:MAPPED]], values[largest[MAPPED:]]
        names = explanation[f"{side}_part"].values[largest[:MAPPED]].tolist()
        if len(others):
            rows = np.vstack([rows, others.sum(0)])
            names.append(plural(len(others), "other"))
        labels.append(names)
        values = rows.T
    limit = float(np.abs(values).max()) or 1.0
    part = HeadMap(
        "",
        values,
        rows=labels[0],
        columns=labels[1],
        row_label="in the query",
        column_label="in the key",
        scale="change",
        limits=(-limit, limit),
        format="+.2f",
        low_is_good=True,  # as in bars, positive numbers are blue
    )
    return head_map([part])


def sections(explanation: xr.Dataset) -> list[Section]:
    """Return the parts of the key and of the query, the largest parts first.

    Against another key, the pairs of parts of the difference come before.
    """
    labels, about = labels_of(explanation, "token_text"), explanation.attrs
    parts = [_section_of_pairs(explanation)] if "difference" in explanation else []
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
                [_drawing(side, frame)],
                [Table(side, title, frame, {"score": "+.2f"}, sums=("score",))],
            )
        )
    return parts


def _drawing(side: str, frame: pd.DataFrame) -> Drawing:
    """Return the picture of the largest parts of a side."""
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
