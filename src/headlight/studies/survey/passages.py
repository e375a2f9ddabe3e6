"""Passages of the corpus where each head is strongest: one row of attention, with its text.

A survey computes means over each example anyway, such as the share of the weight that goes to the
next token.  The example in which a head's mean is highest is kept: of its rows the one in which the
head is strongest, and of that row the tokens around the attending one and those that it attends to
most.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.observations.layer_arrays import array, stacked
from headlight.observations.text_ids import rank_of
from headlight.observations.variables import Variable
from headlight.reduce import Accumulator, Strongest
from headlight.studies.survey.deciles import DRAWN, shows_texts
from headlight.studies.survey.head_behaviours.induction_and_sinks import SHOWN, BehaviourCounter
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock, SeenLayer, single_rows
from headlight.studies.survey.query_and_key_tokens import sides, token_places
from headlight.tensors import back_to, double, single
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, Kind

TO_CATEGORY = tuple(name for name in CATEGORIES if name != "other")
STATISTICS = (*TO_CATEGORY, *NEIGHBOURS, "broad", "narrow", *SHOWN)
"""Behaviours for which passages are sought, named as in findings."""

KEPT, HIGHEST = 24, 8
"""Number of tokens kept of a row, and of those chosen by weight rather than by distance."""

ALIKE = 1000
"""Number of steps to 1: means that round to the same step tie, and the shortest example wins."""

BEFORE = 5
WIDTH = BEFORE + 3 * KEPT
"""Length of the row of a passage: the example's mean, its rank and length, the attending token's
place and id; then places, ids and weights of the kept tokens."""


class Row(NamedTuple):
    """Best rows of a layer, by statistic and head: score, position and weights."""

    score: Tensor
    example: Tensor
    query: Tensor
    weight: Tensor


class _Best(NamedTuple):
    """Row of each example in which a head is strongest, by statistic, example and head.

    `weight` is None if the layer comes in one block, from which it can still be read.
    """

    step: Tensor
    query: Tensor
    weight: Tensor | None

    def or_later(self, other: "_Best") -> "_Best":
        """Return the better of two rows; of two equal ones this one, which comes first."""
        assert self.weight is not None  # noqa: S101 - of several blocks
        assert other.weight is not None  # noqa: S101
        better = other.step > self.step
        return _Best(
            torch.where(better, other.step, self.step),
            torch.where(better, other.query, self.query),
            torch.where(better[..., None], other.weight, self.weight),
        )


class PassageSeeker(PartObserver):
    """Seeker of the row of a batch in which each head shows each behaviour most.

    Args:
        batch: Batch of texts.
        examples: Examples that the batch holds.
        kind: Kind of attention.
        counter: Counter of behaviours, which provides the scores of `SHOWN`.
    """

    on_device = ("_found", "_ids", "_category")

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[Encoded],
        kind: Kind,
        counter: BehaviourCounter,
    ) -> None:
        self._counter = counter
        self._ids, self._category = sides(batch, kind)
        self._ranks = np.array([rank_of(example, kind) for example in examples])
        order = torch.as_tensor(np.argsort(np.argsort(self._ranks)))
        # Ties go to the largest of these, which the example of lowest rank has.
        self._before = double((len(order) - 1 - order).to(batch.input_ids.device))[:, None]
        self._own = kind != "cross"
        words = self._category[0] == CATEGORIES.index("other")
        # Attention from special tokens says least about a text; a text may have no other tokens.
        is_token = self._category[0] >= 0
        askable = torch.where(words.any(1, keepdim=True), words, is_token)
        masks = torch.stack([_rows_beside_words(askable, words, name) for name in STATISTICS])
        self._barred = masks.new_zeros(masks.shape, dtype=torch.float32)
        self._barred = self._barred.masked_fill(~masks, -torch.inf)[:, :, None]
        self._found: dict[int, Row] = {}
        self._best: _Best | None = None

    def note_block(self, block: SeenBlock) -> None:
        """Observe weights, and keep the row of each example in which a head is strongest."""
        record, sums = block.record, block.sums
        places = sums.heads["weight"]
        shares, neighbours, entropies = (
            values[:, places] for values in (sums.columns, sums.neighbours, sums.entropy)
        )
        of_rows = *_shares(shares), *neighbours.unbind(-1), entropies, -entropies
        score = torch.stack([*of_rows, *self._counter.rows_of_weight()])
        score += self._barred[..., record.first : record.first + score.shape[-1]]
        step, query = _steps(score).max(3)  # the first of equal ones
        query = query.to(score.device)
        best = _Best(back_to(step, score.device), query + record.first, None)
        if record.block is not None:
            text = torch.arange(query.shape[1], device=query.device)[:, None]
            rows = self._rows_of(block.scores, text, query)
            best = best._replace(weight=rows)
            best = self._best.or_later(best) if record.first and self._best else best
        self._best = best

    def note_layer(self, layer: SeenLayer) -> None:
        """Choose the row of the example with the highest mean, for each head."""
        assert self._best is not None  # noqa: S101 - its rows were seen before
        query, weights = self._best.query, self._best.weight
        means = _means(layer.means["weight"], (self._category[1] >= 0).sum(1))
        behaviours = self._counter.means_of_weight()
        means = torch.cat([means, behaviours.to(means.device, means.dtype)])
        order = _steps(means) * means.shape[1] + self._before
        example = order.argmax(1).to(query.device)
        score, query = (values.gather(1, example[:, None])[:, 0] for values in (means, query))
        if weights is None:
            rows = self._rows_of(layer.scores, example, query)
        else:
            place = example[:, None, :, None].expand(-1, -1, -1, weights.shape[3])
            rows = weights.gather(1, place)[:, 0]
        self._found[layer.record.site.layer] = Row(score, example, query, rows)
        self._best = None

    def _rows_of(self, scores: Scores, text: Tensor, query: Tensor) -> Tensor:
        """Return rows of the weight over all keys; ``head`` is the last axis of `query`."""
        head = torch.arange(query.shape[-1], device=query.device)
        rows = single_rows(scores, "weight", text, head, query).float()
        missing = self._category[1].shape[1] - rows.shape[-1]
        return torch.nn.functional.pad(rows, (0, missing)) if missing else rows

    def members(self) -> dict[str, Accumulator]:
        """Return the passages, one observation for each statistic, layer and head."""
        layers = [self._found[layer] for layer in sorted(self._found)]
        score, example, query, weight = (
            stacked([single(part) for part in parts]) for parts in zip(*layers, strict=True)
        )
        valid = ~np.isnan(score)
        rows = np.full((*score.shape, WIDTH), np.nan)
        ranks = self._ranks[np.nan_to_num(example).astype(int)]
        passages = self._passages(
            example[valid].astype(int), query[valid].astype(int), weight[valid], ranks[valid]
        )
        rows[valid] = np.concatenate([score[valid][:, None], passages], -1)
        best = Strongest(score.shape, width=WIDTH)
        rounded = np.round(score * ALIKE) / ALIKE  # so that close means tie
        best.update(rounded[None], np.where(valid, ranks, np.nan)[None], rows[None])
        return {"passages": best}

    def _passages(
        self,
        example: Int64[np.ndarray, " passage"],
        query: Int64[np.ndarray, " passage"],
        weight: Float64[np.ndarray, "passage key"],
        ranks: Float64[np.ndarray, " passage"],
    ) -> Float64[np.ndarray, "passage number"]:
        """Return the rows with their texts, in the layout of `WIDTH` without the mean."""
        (query_ids, key_ids), (query_places, key_places) = (
            [array(side) for side in sides]
            for sides in (self._ids, [token_places(category) for category in self._category])
        )
        is_key = key_places[example] >= 0
        weight = np.where(is_key, weight, -1.0)
        middle = query if self._own else weight.argmax(-1)
        kept_keys = _kept(weight, middle, is_key)
        is_kept = np.take_along_axis(is_key, kept_keys, -1)
        values = [
            np.take_along_axis(by_key, kept_keys, -1)
            for by_key in (key_places[example], key_ids[example], weight)
        ]
        values = [np.where(is_kept, by_key, np.nan) for by_key in values]
        values = [_widened(by_key) for by_key in values]
        about = [ranks, is_key.sum(-1), query_places[example, query], query_ids[example, query]]
        return np.concatenate([np.stack(about, -1), *values], axis=-1)


def _rows_beside_words(
    askable: Bool[Tensor, "batch query"], words: Bool[Tensor, "batch query"], name: str
) -> Bool[Tensor, "batch query"]:
    """Return the mask of rows to choose from: for neighbours, those whose neighbour is a word.

    A token that attends to the special one before it looks like any that attends to special tokens.
    """
    offset = NEIGHBOURS.get(name, 0)
    if offset == 0:
        return askable
    beside = torch.zeros_like(words)
    if offset < 0:
        beside[:, -offset:] = words[:, :offset]
    else:
        beside[:, :-offset] = words[:, offset:]
    inside = askable & beside
    return torch.where(inside.any(1, keepdim=True), inside, askable)


def _means(
    statistics: Mapping[str, Tensor], lengths: Int64[Tensor, " batch"]
) -> Float[Tensor, "statistic batch head"]:
    """Return the mean of each statistic of a head in each example."""
    shares = _shares(statistics["total"][:, :, 0])
    neighbours = statistics["neighbour"].unbind(-1)
    # Attention to a single key is neither broad nor narrow.
    size = double(lengths)
    uniform = torch.where(size > 1, size.log(), torch.nan)
    broad = double(statistics["entropy"][..., 0]) / uniform[:, None]
    means = torch.stack([double(statistic) for statistic in (*shares, *neighbours, broad, -broad)])
    return back_to(means, lengths.device)


def _steps(score: Tensor) -> Float64[Tensor, "..."]:
    # Scores that differ by rounding alone tie, and the first of them is shown everywhere.
    return double(score.nan_to_num(-100.0, torch.inf, -100.0)).mul_(ALIKE).round_()


def _shares(by_category: Float[Tensor, "*row category"]) -> list[Float[Tensor, "*row"]]:
    return [by_category[..., CATEGORIES.index(name)] for name in TO_CATEGORY]


def _kept(
    weight: Float64[np.ndarray, "passage key"],
    middle: Int64[np.ndarray, " passage"],
    is_key: np.ndarray,
) -> Int64[np.ndarray, "passage kept"]:
    """Return the highest keys and those nearest to the middle, in the order of the text."""
    size = weight.shape[-1]
    if size > KEPT:
        away = np.arange(size, dtype=np.int32) - middle[:, None].astype(np.int32)
        distance = np.where(is_key, 2 * np.abs(away) + (away < 0), np.int32(4 * size))
        weights, highest = (
            found_keys.numpy() for found_keys in torch.from_numpy(weight).topk(HIGHEST)
        )
        # Keys without weight are not marked as highest: the nearest of them are kept.
        marks = np.where(weights > 0, np.int32(-1), np.take_along_axis(distance, highest, -1))
        np.put_along_axis(distance, highest, marks, -1)
        nearest = torch.from_numpy(distance).topk(KEPT, largest=False).indices.numpy()
        return np.sort(nearest, axis=-1)
    return np.broadcast_to(np.arange(size), weight.shape)


def _widened(values: Float64[np.ndarray, "passage kept"]) -> Float64[np.ndarray, "passage kept2"]:
    missing = KEPT - values.shape[-1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)


OF_PASSAGES = {
    "passage_score": Variable("what the head does on average in the example of the passage"),
    "passage_rank": Variable("number by which the example of the passage can be found again"),
    "passage_length": Variable("attended tokens of that example"),
    "passage_query": Variable("place of the attending token"),
    "passage_query_token": Variable("its number in the vocabulary"),
    "passage_place": Variable("place of an attended token"),
    "passage_token": Variable("its number in the vocabulary"),
    "passage_weight": Variable("its weight"),
    "token_text": Variable("tokens that passages, and the texts that were drawn, hold"),
}


def passages(outcome: Outcome) -> Variables:
    """Return the passages of the corpus where each head is strongest, by `STATISTICS`."""
    member = outcome.tally.get("passages")
    if not isinstance(member, Strongest):
        return {}
    rows = member.compute()["rows"][0]
    score, rank, length, query, query_token = np.moveaxis(rows[..., :BEFORE], -1, 0)
    place, token, weight = np.split(rows[..., BEFORE:], 3, axis=-1)
    group = ("does", "layer", "head")
    by_head = {
        "passage_score": score,
        "passage_rank": rank,
        "passage_length": length,
        "passage_query": query,
        "passage_query_token": query_token,
    }
    by_token = {"passage_place": place, "passage_token": token, "passage_weight": weight}
    drawn = [
        np.asarray(outcome.variables[name][1]).ravel()
        for name in DRAWN
        if name in outcome.variables
    ]
    ids = np.unique(np.concatenate([token.ravel(), query_token.ravel(), *drawn]))
    ids = ids[np.isfinite(ids)].astype(int)
    return {
        "does": list(STATISTICS),
        "token": ids,
        **{name: (group, values) for name, values in by_head.items()},
        **{
            name: ((*group, "kept"), values.astype(np.float32)) for name, values in by_token.items()
        },
        "token_text": ("token", token_names(outcome.tokenizer, ids.tolist())),
    }


def observe(subject: Subject) -> PartObserver | None:
    """Return the seeker of passages; None if no texts are shown."""
    if not shows_texts(subject):
        return None
    counter = subject.observers["behaviours"]
    assert isinstance(counter, BehaviourCounter)  # noqa: S101 - by the table
    return PassageSeeker(*subject.texts, counter)
