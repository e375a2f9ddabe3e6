"""Attention of heads in drawn texts of the corpus, from the weakest to the strongest.

Passages show a head where it does most what it does, which is one text of many.  Here some texts
are drawn from the corpus, all equally likely, and the same for all heads.  Of each text a head's
strongest link is taken, when the model reads it, and the texts at the deciles of its strength are
kept.  What is kept of a batch depends on its texts alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from headlight.analysis.plan import StudyPlan
from headlight.analysis.positions import array, filled
from headlight.analysis.sentences import hash_of
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Accumulator, Strongest
from headlight.reduce.base import Array
from headlight.studies.heads.part import PartObserver, SeenLayer, SeenMeasure
from headlight.studies.heads.passages import places_of, sides
from headlight.vocabulary import CATEGORIES, Kind, measure

SAMPLED = 32
"""Texts that are drawn."""
LONGEST = 256
"""Tokens of such a text, from its beginning, between which links are looked at."""
DECILES = tuple(range(0, 101, 10))
"""In percent; 0 is the weakest of the texts, 100 the strongest."""
LINKS = 10
"""Keys of a row that are kept, those that get most."""
ALIKE = 1000
"""Strengths that differ by less than one in this many of the largest are alike."""
LINK = 2 + 2 * LINKS
"""Numbers of a head's strongest link: strength, query; then places and values of its row's keys."""

DRAWN = ("drawn_key", "drawn_query")
"""Variables that hold numbers of tokens."""

VARIABLES = {
    "decile_score": ("strength of the strongest link of the text at a decile", ""),
    "decile_text": ("which of the texts that were drawn it is", "1"),
    "decile_query": ("place of the attending token", "1"),
    "decile_place": ("place of an attended token", "1"),
    "decile_value": ("what it gets", ""),
    "drawn_key": ("numbers in the vocabulary of the attended tokens of a text that was drawn", "1"),
    "drawn_query": ("and of its attending tokens, where these are others", "1"),
}


class _Link(NamedTuple):
    """The strongest links of the heads of a layer: [text, head], and of rows [text, head, key].

    Attributes:
        score: strength of the link.
        query: from which it goes, in the batch.
        row: of that query; less than any value where there is no key of the text.
    """

    score: Tensor
    query: Tensor
    row: Tensor

    def or_later(self, other: "_Link") -> "_Link":
        """Return the stronger link; of two that are alike this one, whose query comes before."""
        later = other.score > self.score + self.score.abs() / ALIKE
        width = other.row.shape[-1] - self.row.shape[-1]
        row = torch.nn.functional.pad(self.row, (0, width), value=-torch.inf)
        return _Link(
            torch.where(later, other.score, self.score),
            torch.where(later, other.query, self.query),
            torch.where(later[..., None], other.row, row),
        )


class DrawnTexts(PartObserver):
    """Keeps the strongest links of those texts of a batch that may be drawn.

    Args:
        batch: of texts.
        examples: of which it was made.
        plan: of one kind of attention.
        measures: that are seen; those of single heads that need no more than a pass forward count.
    """

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[Encoded],
        plan: StudyPlan[Encoded],
        measures: Sequence[str],
    ) -> None:
        hashes = np.array([hash_of(example, plan.kind) for example in examples])
        chosen = np.argsort(hashes, kind="stable")[:SAMPLED]
        self._hashes = hashes[chosen]
        device = batch.input_ids.device
        self._texts = torch.as_tensor(chosen, device=device)
        ids, categories = sides(batch, plan.kind)
        self._ids = [each[self._texts] for each in ids]
        places = [places_of(each[self._texts]) for each in categories]
        inside = [(each >= 0) & (each < LONGEST) for each in places]
        self._places = [torch.where(each, at, -1) for each, at in zip(inside, places, strict=True)]
        queries, keys = (
            _ordinary(each[self._texts].masked_fill(~part, -1), part)
            for each, part in zip(categories, inside, strict=True)
        )
        if plan.kind == "decoder":
            later = keys & (self._places[1] > 0)
            keys = torch.where(later.any(1, keepdim=True), later, keys)
        self._sides = queries, keys
        self._shape = (len(measures), len(plan.sites), max(site.heads for site in plan.sites))
        self._measures = list(measures)
        self._layers = {site.layer: at for at, site in enumerate(plan.sites)}
        self._best: dict[str, _Link] = {}
        self._links: dict[tuple[int, int], Tensor] = {}

    def note_measure(self, seen: SeenMeasure) -> None:
        """Take the strongest links of a block of queries."""
        row = measure(seen.name)
        if not (len(self._texts) and row.per_head and row.needs is None):
            return
        first, (_, _, size, length) = seen.record.first, seen.score.shape
        values = seen.score.detach()[self._texts]
        queries, keys = self._sides
        asked = queries[:, first : first + size, None] & keys[:, None, :length]
        present = self._places[1][:, :length] >= 0
        link = _strongest(values, asked, present, first)
        best = self._best.get(seen.name) if first else None
        self._best[seen.name] = link if best is None else best.or_later(link)

    def note_layer(self, seen: SeenLayer) -> None:
        """Keep of the rows what is shown."""
        layer = self._layers[seen.record.site.layer]
        for name, link in self._best.items():
            self._links[self._measures.index(name), layer] = self._numbers(link)
        self._best = {}

    def members(self) -> dict[str, Accumulator]:
        """Return the texts and their links, by the name of their member of a tally."""
        texts, heads = len(self._texts), self._shape[-1]
        links = np.full((texts, *self._shape, LINK), np.nan)  # of no text in most batches
        if self._links:
            kept = array(torch.stack([filled(each, heads) for each in self._links.values()]))
            for (at, layer), each in zip(self._links, kept, strict=True):
                links[:, at, layer] = each
        numbers = [_beginnings(*map(array, each)) for each in zip(
            self._ids, self._places, strict=True
        )]  # fmt: skip
        rows = np.concatenate(
            [*numbers, links.reshape(texts, int(np.prod(links.shape[1:])))], axis=-1
        )
        drawn = Strongest((), SAMPLED, rows.shape[-1])
        drawn.update(-self._hashes, self._hashes, rows)
        return {"drawn": drawn}

    def _numbers(self, link: _Link) -> Tensor:
        """Return what is kept of links, ``[text, head, LINK]``, by places in their texts."""
        queries, keys = self._places
        value, at = torch.sort(link.row, dim=-1, descending=True, stable=True)
        value, at = value[..., :LINKS], at[..., :LINKS]
        known = value > -torch.inf
        wide = keys[:, None].expand(-1, at.shape[1], -1)
        place = torch.where(known, wide.gather(2, at), keys.shape[1])
        place, order = place.sort(dim=-1)
        value, known = value.gather(-1, order), known.gather(-1, order)
        rows = [each.float().masked_fill(~known, torch.nan) for each in (place, value)]
        rows = [torch.nn.functional.pad(each, (0, LINKS - each.shape[-1]), value=torch.nan)
            for each in rows]  # fmt: skip
        score = link.score.float()
        score = score.masked_fill(score == -torch.inf, torch.nan)
        about = [score, queries.gather(1, link.query).float()]
        return torch.cat([torch.stack(about, -1), *rows], -1)


def _ordinary(
    category: Int64[Tensor, "text position"], inside: Bool[Tensor, "text position"]
) -> Bool[Tensor, "text position"]:
    """Return which tokens are no special ones; where there is nothing else, all.

    What goes to special tokens, and in a decoder to the first, says little of a text.
    """
    special = [CATEGORIES.index(name) for name in ("cls", "sep")]
    ordinary = inside & (category != special[0]) & (category != special[1])
    return torch.where(ordinary.any(1, keepdim=True), ordinary, inside)


def _strongest(
    values: Tensor,
    asked: Bool[Tensor, "text query key"],
    present: Bool[Tensor, "text key"],
    first: int,
) -> _Link:
    """Return the strongest link of each head, the first of those that are alike, and its row."""
    of_rows = torch.where(asked[:, None], values, -torch.inf).amax(-1).nan_to_num(-torch.inf)
    top = of_rows.amax(-1, keepdim=True)
    query = (of_rows >= top - top.abs() / ALIKE / 2).int().argmax(-1)
    width = values.shape[-1]
    row = values.gather(2, query[..., None, None].expand(-1, -1, 1, width))[:, :, 0]
    row = torch.where(present[:, None], row, -torch.inf)
    return _Link(of_rows.gather(-1, query[..., None])[..., 0], query + first, row)


def _beginnings(ids: Array, places: Array) -> Array:
    """Return the ids of the first tokens of texts, NaN beyond the last."""
    numbers = np.full((len(ids), LONGEST), np.nan)
    text, position = np.nonzero(places >= 0)
    numbers[text, places[text, position].astype(int)] = ids[text, position]
    return numbers


def of_deciles(
    plan: StudyPlan[Encoded], drawn: Strongest, measures: Sequence[str]
) -> dict[str, Any]:
    """Return variables of a result.

    Args:
        plan: of one kind of attention.
        drawn: the texts, of all batches.
        measures: that the survey looks at.
    """
    rows = drawn.compute()["rows"]
    rows = rows[np.isfinite(rows[:, 0])]
    queries, keys, links = np.split(rows, [LONGEST, 2 * LONGEST], axis=-1)
    heads = max(site.heads for site in plan.sites)
    links = links.reshape(len(rows), len(measures), len(plan.sites), heads, LINK)
    return _chosen(links) | _texts(queries, keys, plan.kind)


def deciles_of(score: Float64[np.ndarray, "text *rest"]) -> Int64[np.ndarray, "decile *rest"]:
    """The texts at the deciles of a score: of n in order that at the place nearest to d (n - 1)."""
    order: Int64[np.ndarray, "text *rest"] = np.argsort(score, axis=0, kind="stable")
    places = np.floor(np.array(DECILES) / 100 * (len(score) - 1) + 0.5).astype(int)
    return np.asarray(order[places])


def _chosen(links: Float64[np.ndarray, "text measure layer head number"]) -> dict[str, Any]:
    text = deciles_of(links[..., 0])
    chosen = np.take_along_axis(links, text[..., None], 0)
    score, query = chosen[..., 0], chosen[..., 1]
    place, value = np.split(chosen[..., 2:].astype(np.float32), 2, axis=-1)
    by_head = ("decile", "measure", "layer", "head")
    by_link = (*by_head, "link")
    return {
        "decile_score": (by_head, score),
        "decile_text": (by_head, np.where(np.isfinite(score), text, np.nan)),
        "decile_query": (by_head, query),
        "decile_place": (by_link, place),
        "decile_value": (by_link, value),
    }


def _texts(queries: Array, keys: Array, kind: Kind) -> dict[str, Any]:
    """Return the numbers of the tokens of the texts, NaN beyond the last."""
    parts = {"drawn_key": keys} | ({"drawn_query": queries} if kind == "cross" else {})
    return {
        name: (
            ("drawn", f"{name}_place"),
            each[:, : int(np.isfinite(each).sum(1).max())].astype(np.float32),
        )
        for name, each in parts.items()
    }
