"""Explanation of why a head attends, in a sentence, as bars and as tables of all parts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of
from headlight.findings.candidates import NOT_UNDERSTOOD, are_mostly_unknown
from headlight.findings.phrases import percent, plural
from headlight.findings.token_names import note_of_places
from headlight.views.headline import BarList, Headline, ValueBar, signed_bars
from headlight.views.number_formats import signed
from headlight.views.parts import Drawing, Section, Summary, Table
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.reading.prediction import left_out, with_left_out
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import head_name

DRAWN = 15
"""Parts in the picture of all parts, the largest ones."""

BARS = {"key": 5, "query": 3}
"""Parts of a side that have a bar of their own in the headline."""

ALONE, MOSTLY = 0.95, 0.5
"""Shares of a head's part above which it comes from one token, or mostly from it."""

_KINDS = {"feed_forward": "feed-forward", "bias": "bias", "other": "other"}
_SCORE = (
    "The score is query times key, before the softmax. A part that is the same at every key moves "
    "no weight."
)


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
            is_layer = layer >= 0 and kind != "bias"
            parts.append(_Part(f"{_KINDS[kind]} {layer}" if is_layer else name, kind, score))
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
    title = _title(explanation)
    said = [title, *(bar.label for picture in pictures for bar in picture.bars)]
    read += note_of_places(explanation, "token_text", " ".join(said))
    return Headline(title, read, pictures, kind)


def _title(explanation: xr.Dataset) -> str:
    """Return the cell, its weight, and the largest part of the key.

    Biases come last, as they are the same at every key, or nearly so.
    """
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
    part = next(part for part in parts if part.kind != "bias")
    aside = "biases aside, " if parts[0].kind == "bias" else ""
    against = "works against it: " if part.score * score < 0 else "is "
    return (
        f"{looks}: {aside}the largest part of the score, {signed(part.score)} in a sum of "
        f"{signed(score)}, {against}{_clause(part, key)}."
    )


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
    """Return the title, and the largest parts of both sides, with biases, and of heads."""
    if are_mostly_unknown(explanation, "token_text"):
        return [NOT_UNDERSTOOD]
    sentences = [_title(explanation)]
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
    """Return the score and the weight."""
    return {name: float(explanation[name]) for name in ("score", "weight")}


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
