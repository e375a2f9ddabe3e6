"""Attention of heads in drawn texts of the corpus, from the weakest to the strongest.

Passages show a head where it does most what it does, which is one text of many.  Here some texts
are drawn from the corpus, all equally likely, and the same for all heads; when the corpus has been
read, the model reads these once more.  Of each text a head's strongest link is taken, and the texts
at the deciles of its strength are kept.  No text of the corpus costs more than its hash.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64

from headlight.analysis.plan import StudyPlan
from headlight.analysis.sentences import hash_of
from headlight.capture import LayerRecord
from headlight.capture.one_text import capture_one
from headlight.encode import Encoded
from headlight.measures import Scores
from headlight.reduce import Accumulator, Strongest
from headlight.reduce.base import Array
from headlight.studies.heads.part import PartObserver
from headlight.vocabulary import CATEGORIES, Kind, ValueBias, measure

SAMPLED = 32
"""Texts that are drawn."""
LONGEST = 256
"""Tokens of such a text, from its beginning, that are looked at."""
DECILES = tuple(range(0, 101, 10))
"""In percent; 0 is the weakest of the texts, 100 the strongest."""
LINKS = 10
"""Keys of a row that are kept, those that get most."""
ALIKE = 1000
"""Strengths that differ by less than one in this many of the largest are alike."""

DRAWN = ("drawn_key", "drawn_query")
"""Variables that hold numbers of tokens."""

_PARTS = tuple(each.name for each in fields(Encoded) if each.name not in ("name", "origin", "unit"))

VARIABLES = {
    "decile_score": ("strength of the strongest link of the text at a decile", ""),
    "decile_text": ("which of the texts that were drawn it is", "1"),
    "decile_query": ("place of the attending token", "1"),
    "decile_place": ("place of an attended token", "1"),
    "decile_value": ("what it gets", ""),
    "drawn_key": ("numbers in the vocabulary of the attended tokens of a text that was drawn", "1"),
    "drawn_query": ("and of its attending tokens, where these are others", "1"),
}


class DrawnTexts(PartObserver):
    """Keeps the texts of a batch that may be drawn."""

    def __init__(self, examples: Sequence[Encoded], kind: Kind) -> None:
        self._drawn = drawn_texts(examples, kind)

    def members(self) -> dict[str, Accumulator]:
        """Return the texts, by the name of their member of a tally."""
        return {"drawn": self._drawn}


def drawn_texts(examples: Sequence[Encoded], kind: Kind) -> Strongest:
    """Return the texts of a batch that may be drawn: those with the lowest hashes of all."""
    hashes = np.array([hash_of(example, kind) for example in examples])
    lowest = np.argsort(hashes, kind="stable")[:SAMPLED]
    rows = np.stack([_numbers(examples[at].beginning(LONGEST)) for at in lowest])
    strongest = Strongest((), SAMPLED, rows.shape[-1])
    strongest.update(-hashes[lowest], hashes[lowest], rows)
    return strongest


def _numbers(example: Encoded) -> Float64[np.ndarray, " number"]:
    """An example as one row; -2 where there is nothing."""
    parts = [getattr(example, name) for name in _PARTS]
    row = np.full((len(parts), LONGEST), -2.0)
    for at, part in enumerate(parts):
        row[at, : len(part)] = part
    return row.ravel()


def _example(row: Float64[np.ndarray, " number"]) -> Encoded:
    """The example that a row holds."""
    parts = row.reshape(len(_PARTS), LONGEST).astype(int)
    lengths = {name: int((parts[_PARTS.index(name)] >= 0).sum()) for name in ("ids", "target")}
    size = {name: lengths["target" if "target" in name else "ids"] for name in _PARTS}
    return Encoded(
        "a text that was drawn",
        **{  # type: ignore[arg-type]
            name: tuple(part[: size[name]].tolist())
            for name, part in zip(_PARTS, parts, strict=True)
        },
    )


class _Link(NamedTuple):
    """The strongest links of the heads of a layer in one text: [head], and of rows [head, link]."""

    score: Array
    query: Array
    place: Array
    value: Array


def of_deciles(
    plan: StudyPlan[Encoded],
    found: Strongest,
    measures: Sequence[str],
    value_bias: ValueBias,
) -> dict[str, Any]:
    """Variables of a result: the model reads the texts that were drawn.

    Args:
        plan: of one kind of attention.
        found: the texts, of all batches.
        measures: that the survey looks at; those of single heads that need no more than a pass
            forward are looked at here.
        value_bias: whether T of effective attention has the value bias in it.
    """
    rows = found.compute()["rows"]
    examples = [_example(row) for row in rows if np.isfinite(row[0])]
    by = [name for name in measures if measure(name).per_head and measure(name).needs is None]
    heads = max(site.heads for site in plan.sites)
    shape = (len(examples), len(measures), len(plan.sites), heads)
    links = _Link(*(np.full((*shape, *more), np.nan) for more in ((), (), (LINKS,), (LINKS,))))
    for at, example in enumerate(examples):
        asked, allowed = _allowed(example, plan.kind)

        def visit(record: LayerRecord) -> dict[str, _Link]:
            scores = Scores(record, value_bias, torch.float32)
            maps = {name: scores.of(name)[0].cpu().double().numpy() for name in by}
            return {name: _strongest(each, asked, allowed) for name, each in maps.items()}  # noqa: B023

        for layer, of_layer in enumerate(capture_one(plan.model, example, plan.sites, visit)):
            for name, link in of_layer.items():
                for whole, part in zip(links, link, strict=True):
                    whole[at, measures.index(name), layer, : len(part)] = part
    return _chosen(links) | _texts(examples, plan.kind)


def _allowed(
    example: Encoded, kind: Kind
) -> tuple[Bool[np.ndarray, " query"], Bool[np.ndarray, " key"]]:
    """Queries and keys of links: ordinary tokens, and of a decoder not the first.

    What goes to special tokens and to the first says little of a text; where there is nothing else,
    it is all.
    """
    queries, keys = (_ordinary(each) for each in _sides(example, kind, "categories"))
    if kind == "decoder" and keys[1:].any():
        keys = keys & (np.arange(len(keys)) > 0)
    return queries, keys


def _ordinary(categories: Sequence[int]) -> Bool[np.ndarray, " position"]:
    special = [CATEGORIES.index(name) for name in ("cls", "sep")]
    ordinary: Bool[np.ndarray, " position"] = ~np.isin(categories, special)
    return ordinary if ordinary.any() else ~ordinary


def _sides(example: Encoded, kind: Kind, what: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return the ``ids`` or ``categories`` of queries and keys."""
    source = getattr(example, what)
    target = getattr(example, "target" if what == "ids" else f"target_{what}")
    if kind == "encoder" or not example.target:
        return source, source
    return target, (source if kind == "cross" else target)


def _strongest(
    values: Float64[np.ndarray, "head query key"],
    asked: Bool[np.ndarray, " query"],
    allowed: Bool[np.ndarray, " key"],
) -> _Link:
    """The strongest link of each head, the first of those that are alike, and its row."""
    heads, _, keys = values.shape
    inside = np.where(asked[:, None] & allowed, values, -np.inf).reshape(heads, -1)
    top = inside.max(-1, keepdims=True)
    step = np.abs(top) / ALIKE + np.finfo(np.float64).tiny
    at = (np.round(inside / step) >= np.round(top / step)).argmax(-1)
    query = at // keys
    row = values[np.arange(heads), query]
    place = np.sort(np.argsort(-row, axis=-1, kind="stable")[:, :LINKS], axis=-1)
    missing = ((0, 0), (0, LINKS - place.shape[1]))
    return _Link(
        np.take_along_axis(inside, at[:, None], 1)[:, 0],
        query,
        np.pad(place.astype(float), missing, constant_values=np.nan),
        np.pad(np.take_along_axis(row, place, 1), missing, constant_values=np.nan),
    )


def deciles_of(score: Float64[np.ndarray, "text *rest"]) -> Int64[np.ndarray, "decile *rest"]:
    """The texts at the deciles of a score: of n in order that at the place nearest to d (n - 1)."""
    order: Int64[np.ndarray, "text *rest"] = np.argsort(score, axis=0, kind="stable")
    places = np.floor(np.array(DECILES) / 100 * (len(score) - 1) + 0.5).astype(int)
    return np.asarray(order[places])


def _chosen(links: _Link) -> dict[str, Any]:
    text = deciles_of(links.score)
    score, query, place, value = (
        np.take_along_axis(each, text[(...,) + (None,) * (each.ndim - text.ndim)], 0)
        for each in links
    )
    known = np.isfinite(score)
    by_head = ("decile", "measure", "layer", "head")
    by_link = (*by_head, "link")
    return {
        "decile_score": (by_head, score),
        "decile_text": (by_head, np.where(known, text, np.nan)),
        "decile_query": (by_head, query),
        "decile_place": (by_link, place.astype(np.float32)),
        "decile_value": (by_link, value.astype(np.float32)),
    }


def _texts(examples: Sequence[Encoded], kind: Kind) -> dict[str, Any]:
    """The numbers of the tokens of the texts, NaN beyond the last."""
    sides = {"drawn_key": 1} | ({"drawn_query": 0} if kind == "cross" else {})
    found: dict[str, Any] = {}
    for name, side in sides.items():
        texts = [_sides(example, kind, "ids")[side] for example in examples]
        filled = np.full((len(texts), max(map(len, texts))), np.nan, dtype=np.float32)
        for row, text in zip(filled, texts, strict=True):
            row[: len(text)] = text
        found[name] = (("drawn", f"{name}_place"), filled)
    return found
