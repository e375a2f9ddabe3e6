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
from jaxtyping import Bool, Float, Float32, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import Texts, array
from headlight.analysis.plan import StudyPlan
from headlight.analysis.variables import hash_of
from headlight.capture import AttentionSite, LayerRecord
from headlight.capture.one_text import capture_one
from headlight.encode import Encoded
from headlight.measures import Scores
from headlight.reduce import Accumulator, RankCorrelation, Sample, Strongest
from headlight.reduce.base import Array
from headlight.studies.survey.part import PartObserver
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

_NO_NUMBERS = ("name", "origin", "unit", "segment_names")
_PARTS = tuple(each.name for each in fields(Encoded) if each.name not in _NO_NUMBERS)

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
        value_bias: value bias in T of effective attention.
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


NOWHERE = -1
"""The entry of columns that are left out."""


class PairRanks:
    """Sees (α_ij, ‖f(x_j)‖) of all pairs of positions, but for padding and what cannot be seen.

    Args:
        texts: the positions of the batch.
        categories: how many categories there are.
        sites: the attention modules that will be seen.
    """

    def __init__(self, texts: Texts, categories: int, sites: Sequence[AttentionSite]) -> None:
        layers, heads = len(sites), max(site.heads for site in sites)
        self._queries = texts.queries
        self._padded = not bool(texts.queries.all())
        self._category = texts.category[:, None]
        self._row = {layer: row for row, layer in enumerate(sorted(site.layer for site in sites))}
        self._ranks = RankCorrelation((layers, heads, categories))

    def see(
        self,
        layer: int,
        weight: Float[Tensor, "batch head query key"],
        norm: Float[Tensor, "batch head key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> None:
        """See one layer; its weights are not kept."""
        columns = self._columns(weight, visible)
        lengths = norm.float().cpu().numpy()
        category = np.broadcast_to(self._category, lengths.shape)
        _, most, categories = self._ranks.shape
        head = self._row[layer] * most + np.arange(lengths.shape[1])[:, None]
        entries = np.where(category < 0, NOWHERE, head * categories + category)
        self._ranks.update(columns, lengths.ravel(), entries.ravel())

    def found(self) -> RankCorrelation:
        """Return what was counted, by layer, head and category."""
        return self._ranks

    def _columns(
        self,
        weight: Float[Tensor, "batch head query key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> Float32[np.ndarray, "column query"]:
        """Return the weights by receiving key; NaN for pairs that do not exist or are masked."""
        received = weight.float().transpose(2, 3)
        if self._padded or (visible is not None and visible.shape[1] > 1):
            there = self._queries[:, :, None]
            there = there if visible is None else there & visible
            received = received.masked_fill(~there.transpose(1, 2)[:, None], torch.nan)
        columns: Float32[np.ndarray, "column query"] = received.contiguous().cpu().numpy()
        return columns.reshape(-1, weight.shape[2])


Numbers = Int64[np.ndarray, " drawn"]


class PairSample:
    """A uniform sample of (α_ij, ‖f(x_j)‖) per category, of all heads of all layers.

    Which pairs are looked at is drawn before the model runs, from all pairs of positions that are
    no padding; those that a query cannot see come as NaN.

    Args:
        texts: the positions of the batch.
        categories: how many categories there are.
        sites: the attention modules that will be seen.
        sample: with its size and seed, empty.
    """

    def __init__(
        self, texts: Texts, categories: int, sites: Sequence[AttentionSite], sample: Sample
    ) -> None:
        self._sample = sample
        ordered = sorted(sites, key=lambda site: site.layer)
        heads = np.array([site.heads for site in ordered])
        self._row = {site.layer: row for row, site in enumerate(ordered)}
        self._first_head = np.cumsum(heads) - heads
        queries, keys = texts.queries.cpu().numpy(), texts.category
        counts = (keys[..., None] == np.arange(categories)).sum(1)
        lengths = counts * (queries.sum(1) * heads.sum())[:, None]
        for group in range(categories):
            self._draw(texts.text_ids, lengths[:, group], group)
        self._text, number = sample.rows.astype(np.int64).T
        self._place(number, queries, keys, counts)
        self._values = np.full((len(number), 2), np.nan)

    def see(
        self,
        layer: int,
        weight: Float[Tensor, "batch head query key"],
        norm: Float[Tensor, "batch head key"],
        visible: Bool[Tensor, "batch #query key"] | None,
    ) -> None:
        """Fetch what was drawn of this layer."""
        here = np.flatnonzero(self._layer == self._row[layer])
        text, head, query, key = (
            torch.from_numpy(each[here]).to(weight.device)
            for each in (self._text, self._head, self._query, self._key)
        )
        pairs = torch.stack([weight[text, head, query, key].to(norm), norm[text, head, key]], -1)
        if visible is not None:
            seen = visible.expand(-1, weight.shape[2], -1)[text, query, key]
            pairs = pairs.masked_fill(~seen[:, None], torch.nan)
        self._values[here] = array(pairs)

    def found(self) -> Sample:
        """The sample, once all layers were seen."""
        self._sample.rows = self._values
        return self._sample

    def _draw(
        self, text_ids: Sequence[int], lengths: Int64[np.ndarray, " text"], group: int
    ) -> None:
        """Draw of each text; for the time being, the row says which pair it is."""
        for text, (text_id, length) in enumerate(zip(text_ids, lengths.tolist(), strict=True)):
            if length:
                keys, numbers = self._sample.draw(text_id, length, group)
                rows = np.stack([np.full(len(numbers), text), numbers], axis=-1)
                self._sample.keep(keys, rows.astype(np.float64), group)

    def _place(
        self,
        number: Numbers,
        queries: Bool[np.ndarray, "text query"],
        keys: Int64[np.ndarray, "text key"],
        counts: Int64[np.ndarray, "text category"],
    ) -> None:
        """From the number of a pair in its text and category to layer, head, query and key."""
        text, group = self._text, self._sample.group
        number, key = np.divmod(number, counts[text, group])
        head, query = np.divmod(number, queries.sum(1)[text])
        before = np.cumsum(counts, axis=1) - counts + (keys < 0).sum(1)[:, None]
        self._key = np.argsort(keys, axis=1, kind="stable")[text, before[text, group] + key]
        self._query = np.argsort(~queries, axis=1, kind="stable")[text, query]
        self._layer = np.searchsorted(self._first_head, head, side="right") - 1
        self._head = head - self._first_head[self._layer]


def occurrence_sample(
    texts: Texts, rows: Float64[np.ndarray, "token field"], sample: Sample
) -> Sample:
    """A uniform sample of the occurrences of tokens.

    Args:
        texts: the positions of the batch.
        rows: of all tokens of all texts, in their order; those whose first field is NaN are left
            out.
        sample: with its size and seed, empty.
    """
    places = np.cumsum((texts.category >= 0).sum(1))
    for text_id, chosen in zip(texts.text_ids, np.split(rows, places[:-1]), strict=True):
        there = chosen[~np.isnan(chosen[:, 0])]
        if len(there):
            keys, numbers = sample.draw(text_id, len(there))
            sample.keep(keys, there[numbers])
    return sample
