"""Passages of texts in which a head does most of something."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from headlight.findings.piece_text import PieceText
from headlight.findings.token_names import pieces_of
from headlight.findings.variables import observed


@dataclass(frozen=True, slots=True)
class Attended:
    """Attended token of a passage.

    Attributes:
        place: Place in the example.
        piece: Token as the vocabulary writes it.
        shown: Token as it stands in the text.
        weight: Share of the row that the token gets.
    """

    place: int
    piece: str
    shown: PieceText
    weight: float


@dataclass(frozen=True, slots=True)
class Passage:
    """Row of a head's attention, with its text.

    Attributes:
        query: Attending token.
        place: Place of the attending token in its example.
        length: Number of attended tokens of the whole example.
        tokens: Tokens around the attending token, and those that get most.
        mean: Mean of the behaviour of the head over the whole example.
        rank: Rank by which the example can be found again.
    """

    query: PieceText
    place: int
    length: int
    tokens: list[Attended]
    mean: float
    rank: float


def passage_of(result: xr.Dataset, does: str, layer: int, head: int) -> Passage | None:
    """Return the passage of a head; None where none was kept, or there is no such behaviour.

    Args:
        result: Result of a survey, of one kind of attention.
        does: Behaviour of the head, as `headlight.findings.Highlight.kind` names it.
        layer: Number of the layer, as the model counts it.
        head: Number of the head within the layer.
    """
    where: dict[str, str | int] = {"does": does, "layer": layer, "head": head}

    def number(name: str) -> float:
        return float(observed(result, f"passage_{name}", (), **where))

    if "token_text" not in result or not np.isfinite(number("score")):
        return None
    ids, texts = result["token"].values.tolist(), result["token_text"].values.tolist()
    texts = dict(zip(map(int, ids), map(str, texts), strict=True))
    pieces_by_text = dict(zip(texts, pieces_of(result, "token_text"), strict=True))
    tokens = zip(
        *(observed(result, f"passage_{name}", ("kept",), **where) for name in _OF_TOKENS),
        strict=True,
    )
    return Passage(
        query=pieces_by_text[int(number("query_token"))],
        place=int(number("query")),
        length=int(number("length")),
        tokens=[
            Attended(int(place), texts[int(token)], pieces_by_text[int(token)], float(weight))
            for place, token, weight in tokens
            if np.isfinite(place)
        ],
        mean=number("score"),
        rank=number("rank"),
    )


_OF_TOKENS = ("place", "token", "weight")
