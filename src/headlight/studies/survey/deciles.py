"""Attention of heads in drawn texts of the corpus, from the weakest to the strongest.

Passages show a head at its strongest, in one text of many.  Here some texts are drawn from the
corpus, all equally likely, and the same for all heads: those with the lowest hashes.  A text is
observed when the model reads it, if it is among those of its shard; so no text is read twice, and
most texts of a large corpus cost no more than their hashes.  For each text a head's strongest link
is kept, and the texts at the deciles of its strength are shown.
"""

import math
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int64
from torch import Tensor
from torch.nn.functional import pad

from headlight.capture import LayerRecord
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.plan import StudyPlan
from headlight.observations.layer_arrays import stacked
from headlight.observations.text_ids import hash_of
from headlight.reduce import Accumulator, Strongest
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock, single_rows
from headlight.studies.survey.query_and_key_tokens import sides, token_places
from headlight.studies.survey.row_sums import Links
from headlight.tensors import Score, double
from headlight.vocabulary import CATEGORIES, Kind, measure

SAMPLED = 32
"""Number of texts drawn."""
LONGEST = 256
"""Number of tokens of such a text, from its beginning, between which links are examined."""
DECILES = tuple(range(0, 101, 10))
"""Deciles in percent; 0 is the weakest text, 100 the strongest."""
LINKS = 10
"""Number of keys kept of a row, those with the highest scores."""
WIDTH = 2 + 2 * LINKS
"""Length of the row of a link: its score, place of its query, places and values of keys."""
ALIKE = 1000
"""Inverse tolerance: strengths within half of 1 / `ALIKE` of the largest count as equal to it."""

DRAWN = ("drawn_key", "drawn_query")
"""Variables that hold token ids."""

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
    """Observer of the strongest links in those texts of a batch that may be drawn.

    Args:
        batch: Batch of texts.
        examples: Examples that the batch holds.
        plan: Plan for one kind of attention.
        measures: Measures observed.
        highest: Largest hash of a text that may be drawn; see `highest_hash`.
        host: Batch on the host.
    """

    on_device = ("_found", "_ids", "_places")

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[Encoded],
        plan: StudyPlan[Encoded],
        measures: Sequence[str],
        highest: float,
        host: Batch,
    ) -> None:
        hashes = np.array([hash_of(example, plan.kind) for example in examples])
        chosen = np.flatnonzero(hashes <= highest)
        self._hashes = hashes[chosen]
        self._layers, self._heads = len(plan.sites), max(site.heads for site in plan.sites)
        self._highest: dict[str, list[Tensor]] = {name: [] for name in with_links(measures)}
        self._cells: dict[str, list[Tensor]] = {name: [] for name in self._highest}
        self._found: dict[int, tuple[Tensor, Tensor, list[Tensor]]] = {}
        self._texts = torch.as_tensor(chosen, device=batch.input_ids.device)
        ids, categories = sides(host, plan.kind)
        self._ids = [side[chosen] for side in ids]
        places = [token_places(side[chosen]) for side in categories]
        self._places = [side.masked_fill(side >= LONGEST, -1) for side in places]
        self._spans = [_span(side) for side in self._places]
        queries, keys = map(_ordinary, [side[chosen] for side in categories], self._places)
        if plan.kind == "decoder":
            later = keys & (self._places[1] > 0)
            keys = torch.where(later.any(1, keepdim=True), later, keys)
        self._keys = keys
        # −∞ at queries that have no link.
        barred = torch.zeros(queries.shape).masked_fill(~queries, -torch.inf)
        self._barred = barred[:, self._spans[0]].to(self._texts.device)
        if len(chosen):
            self.links = Links(self._texts, keys.to(self._texts.device))

    def note_block(self, block: SeenBlock) -> None:
        """Keep the rows of the strongest links; of several blocks, all rows until the last."""
        record = block.record
        if not len(self._hashes):
            return
        self._keep(block)
        if not record.ends:
            return
        strengths = torch.stack([torch.cat(blocks, 2) for blocks in self._highest.values()])
        strengths = strengths.nan_to_num(-torch.inf, torch.inf, -torch.inf)
        strengths += self._barred[:, None]
        query = _strongest(strengths)
        in_batch = query + self._spans[0].start
        rows = []
        head = torch.arange(query.shape[2], device=query.device)
        for number, (name, cells) in enumerate(self._cells.items()):
            if cells:
                text = torch.arange(len(self._texts), device=head.device)
                rows.append(torch.cat(cells, 2)[text[:, None], head, query[number]])
            else:  # the layer came in one block, whose cells were not copied
                place = self._texts[:, None], head, in_batch[number]
                rows.append(
                    self._fill(single_rows(block.scores, name, *place)[..., self._spans[1]])
                )
        score = strengths.gather(-1, query[..., None])[..., 0]
        self._found[record.site.layer] = score, query, rows
        for name in self._cells:
            self._highest[name], self._cells[name] = [], []

    def _keep(self, block: SeenBlock) -> None:
        """Keep the strongest link of each row, and the cells if there are several blocks."""
        record, sums = block.record, block.sums
        later = self._keys[:, record.shape[3] :].any(1)[:, None, None]  # these get 0
        for name, strengths in self._highest.items():
            highest = sums.linked[:, sums.heads[name], self._rows_of(record)]
            if bool(later.any()):
                highest = torch.where(later.to(highest.device), highest.clamp_min(0), highest)
            strengths.append(highest)
        if record.block is not None:
            for name, cells in self._cells.items():
                cells.append(self._cells_of(block.scores.of(name), record).clone())

    def members(self) -> dict[str, Accumulator]:
        """Return the texts and their links, by name of the member of a tally."""
        texts = len(self._hashes)
        ids = np.full((texts, 2, LONGEST), np.nan)
        links = np.full((texts, self._layers, self._heads, len(self._cells), WIDTH), np.nan)
        if texts:
            links = stacked(self._links())
        for side, (numbers, places) in enumerate(zip(self._ids, self._places, strict=True)):
            text, position = np.nonzero(places.numpy() >= 0)
            ids[text, side, places[text, position]] = numbers[text, position]
        rows = np.concatenate(
            [columns.reshape(texts, math.prod(columns.shape[1:])) for columns in (ids, links)], 1
        )
        drawn = Strongest((), SAMPLED, rows.shape[1])
        drawn.update(-self._hashes, self._hashes, rows)
        return {"drawn": drawn}

    def _links(self) -> list[Float[Tensor, "text head measure number"]]:
        """Return the strongest link of each head, with its row, layer by layer.

        A row has the score, the place of the query, and the places and values of `LINKS` keys.
        """
        of_queries, of_keys = (
            places[:, span] for places, span in zip(self._places, self._spans, strict=True)
        )
        layers = [self._found[layer] for layer in sorted(self._found)]
        missing = (of_keys < 0)[:, None]
        rows = [
            torch.stack(measured).float().masked_fill(missing, -torch.inf).flatten(0, 2)
            for *_, measured in layers
        ]
        keys, values = _largest(torch.cat(rows).numpy())
        numbers, begin = [], 0
        for score, query, _ in layers:
            text = torch.arange(score.shape[1])[None, :, None].expand_as(score)
            of_layer = slice(begin, begin + score.numel())
            begin = of_layer.stop
            key, value = (
                torch.from_numpy(top[of_layer]).view(*score.shape, top.shape[1])
                for top in (keys, values)
            )
            place = of_keys[text[..., None], key]
            linked = [
                per_link.float().masked_fill(place < 0, torch.nan) for per_link in (place, value)
            ]
            linked = [
                pad(per_link, (0, LINKS - per_link.shape[-1]), value=torch.nan)
                for per_link in linked
            ]
            about = torch.stack([score, of_queries[text, query].float()], -1)
            of_heads = torch.cat([about, *linked], -1).movedim(0, 2)
            numbers.append(of_heads.where(of_heads[..., :1].isfinite(), torch.nan))
        return numbers

    def _rows_of(self, record: LayerRecord) -> slice:
        queries = self._spans[0]
        return slice(*(max(0, at - record.first) for at in (queries.start, queries.stop)))

    def _select_texts(self, rows: Tensor) -> Tensor:
        # Where all texts of a batch are kept, no rows are copied.
        return rows if len(self._texts) == len(rows) else rows[self._texts]

    def _cells_of(
        self, score: Score, record: LayerRecord
    ) -> Float[Tensor, "text head row key_of_text"]:
        cells = score.detach()[:, :, self._rows_of(record), self._spans[1]]
        return self._fill(self._select_texts(cells).float())

    def _fill(self, rows: Tensor) -> Tensor:
        # Keys that a block leaves out are behind all of its queries, and get 0.
        span = self._spans[1]
        missing = span.stop - span.start - rows.shape[-1]
        return pad(rows, (0, missing)) if missing else rows


def highest_hash(examples: Sequence[Encoded], kind: Kind) -> float:
    """Return the hash of the last text of a shard that may be drawn from the corpus."""
    # A shard cannot hold more of the drawn texts than are drawn from the whole corpus.
    return sorted(hash_of(example, kind) for example in examples)[:SAMPLED][-1]


def with_links(measures: Sequence[str]) -> list[str]:
    """Return the measures of single heads that need no more than a forward pass."""
    return [name for name in measures if measure(name).per_head and measure(name).needs is None]


def _span(places: Int64[Tensor, "text position"]) -> slice:
    positions = (places >= 0).any(0).nonzero()[:, 0].tolist()
    return slice(positions[0], positions[-1] + 1) if positions else slice(0, 0)


def _ordinary(
    categories: Int64[Tensor, "text position"], places: Int64[Tensor, "text position"]
) -> Bool[Tensor, "text position"]:
    """Return the mask of ordinary tokens, between which links are; all if a text has none.

    Attention to special tokens, and in a decoder to the first, says little about a text.
    """
    present = places >= 0
    special = [CATEGORIES.index(name) for name in ("cls", "sep")]
    ordinary = present & (categories != special[0]) & (categories != special[1])
    return torch.where(ordinary.any(1, keepdim=True), ordinary, present)


def _strongest(
    strengths: Float[Tensor, "measure text head query"],
) -> Int64[Tensor, "measure text head"]:
    """Return the query of the strongest link of each head, the first of those within tolerance."""
    wide = double(strengths)
    top = wide.amax(-1, keepdim=True)
    # Rounding differs between batches and devices, and must not decide which link is shown.
    alike = wide >= top - top.abs() / (2 * ALIKE)
    return alike.to(torch.uint8).argmax(-1).to(strengths.device)


def _largest(
    rows: Float32[np.ndarray, "row key"],
) -> tuple[Int64[np.ndarray, "row link"], Float32[np.ndarray, "row link"]]:
    """Return the `LINKS` keys of each row with the highest scores, in their order, and the scores.

    Of equal keys the first are kept; NaN is the highest.
    """
    number = min(LINKS, rows.shape[1])
    # A partition is faster than a sort, which only rows with ties or NaN need.
    top = np.partition(rows, rows.shape[1] - number, axis=1)[:, rows.shape[1] - number :]
    chosen = rows >= top.min(1, keepdims=True)
    unclear = np.flatnonzero((chosen.sum(1) != number) | np.isnan(top).any(1))
    order = torch.from_numpy(rows[unclear]).sort(dim=1, descending=True, stable=True).indices
    chosen[unclear] = False
    chosen[unclear[:, None], order[:, :number].numpy()] = True
    keys = chosen.nonzero()[1].reshape(len(rows), number)
    return keys, np.take_along_axis(rows, keys, 1)


def of_deciles(
    plan: StudyPlan[Encoded], drawn: Strongest, measures: Sequence[str]
) -> dict[str, Any]:
    """Return the variables of the texts at the deciles.

    Args:
        plan: Plan for one kind of attention.
        drawn: Drawn texts of all batches, with their links.
        measures: Measures of the survey.
    """
    rows = drawn.compute()["rows"]
    # A corpus of fewer texts leaves rows empty, which begin with NaN.
    rows = rows[np.isfinite(rows[:, 0])]
    ids, numbers = np.split(rows, [2 * LONGEST], 1)
    by, heads = with_links(measures), max(site.heads for site in plan.sites)
    numbers = numbers.reshape(len(rows), len(plan.sites), heads, len(by), WIDTH)
    links = np.full((len(rows), len(measures), *numbers.shape[1:3], WIDTH), np.nan)
    links[:, [measures.index(name) for name in by]] = np.moveaxis(numbers, 3, 1)
    return _chosen(links) | _texts(ids.reshape(len(rows), 2, LONGEST), plan.kind)


def deciles_of(score: Float64[np.ndarray, "text *rest"]) -> Int64[np.ndarray, "decile *rest"]:
    """Return the texts at the deciles of a score: of n sorted ones, that nearest to d (n - 1)."""
    order: Int64[np.ndarray, "text *rest"] = np.argsort(score, axis=0, kind="stable")
    places = np.floor(np.array(DECILES) / 100 * (len(score) - 1) + 0.5).astype(int)
    return np.asarray(order[places])


def _chosen(links: Float64[np.ndarray, "text measure layer head number"]) -> dict[str, Any]:
    text = deciles_of(links[..., 0])
    links = np.take_along_axis(links, text[..., None], 0)
    score, query = links[..., 0], links[..., 1]
    finite = np.isfinite(score)
    place, value = np.split(links[..., 2:].astype(np.float32), 2, -1)
    by_head = ("decile", "measure", "layer", "head")
    return {
        "decile_score": (by_head, score),
        "decile_text": (by_head, np.where(finite, text, np.nan)),
        "decile_query": (by_head, query),
        "decile_place": ((*by_head, "link"), place),
        "decile_value": ((*by_head, "link"), value),
    }


def _texts(ids: Float64[np.ndarray, "text side place"], kind: Kind) -> dict[str, Any]:
    """Return the token ids of the texts, padded with NaN."""
    named = {"drawn_key": ids[:, 1]} | ({"drawn_query": ids[:, 0]} if kind == "cross" else {})
    longest = {
        name: int(np.isfinite(ids_of_texts).sum(1).max(initial=0))
        for name, ids_of_texts in named.items()
    }
    return {
        name: (("drawn", f"{name}_place"), ids_of_texts[:, : longest[name]].astype(np.float32))
        for name, ids_of_texts in named.items()
    }


def deciles(outcome: Outcome) -> Variables:
    """Return texts from a head's weakest to its strongest; nothing if none are drawn."""
    drawn = outcome.tally.get("drawn")
    if not isinstance(drawn, Strongest):
        return {}
    variables = of_deciles(outcome.plan, drawn, outcome.measures)
    return {"decile": list(DECILES), **variables}


def observe(subject: Subject) -> PartObserver | None:
    """Return the observer of texts that may be drawn; None if no texts are shown."""
    if not shows_texts(subject) or subject.plan.model.hears:
        return None
    highest = subject.known.get("drawn", inf)
    model_pass, sides = subject.model_pass, (subject.batch, subject.examples)
    return DrawnTexts(*sides, subject.plan, model_pass.measures, highest, subject.host)


def shows_texts(subject: Subject) -> bool:
    """Return whether passages of texts are shown; patches have no words to show."""
    passages = subject.settings.passages and not subject.plan.model.sees
    return passages and "weight" in subject.model_pass.measures
