"""Counter of behaviours in a batch: first tokens, duplicates, induction, copies, word pieces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.catalogue.statistics import FIRST_TOKENS, behaviours, segment_rows
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.observations.layer_arrays import filled, stacked
from headlight.observations.positions import Positions
from headlight.observations.text_ids import units_of
from headlight.pool import Groups, Pairs
from headlight.reduce import Accumulator, Count, Ratio, Slots
from headlight.reduce.accumulator import Array
from headlight.reduce.moments import medians
from headlight.studies.survey.head_behaviours.counted_keys import (
    chosen_keys,
    tokens_of_segment,
    whole_words,
)
from headlight.studies.survey.head_behaviours.distances import (
    NUMBERS_OF_OFFSETS,
    POWERS,
    distance_ratios,
    offset_basis,
)
from headlight.studies.survey.part import Subject
from headlight.studies.survey.part_observer import PartObserver, SeenBlock, SeenLayer
from headlight.studies.survey.row_sums import PairLists
from headlight.studies.survey.text_means import means, ratios
from headlight.tensors import double, widest
from headlight.vocabulary import CATEGORIES, DISTANCES, FAR, RELATIVE, SINK, Kind, measure


def numbers() -> tuple[str | int, ...]:
    """Return the labels of the numbers of each head, in their order along the last axis."""
    return (*behaviours(), *RELATIVE, *DISTANCES)


GROUPS = ("duplicate", "induction", "subword")
"""Behaviours towards keys that are listed for each query."""

SHOWN = ("first", *GROUPS)
"""Behaviours whose weight in each row is kept, for passages."""

COPIES = ("copy", "copy_far")
"""Behaviours whose keys get at least as much as any other key."""

NO_PAIRS = Pairs(*torch.zeros(3, 0, dtype=torch.int64))

ROUNDING = 16 * torch.finfo(torch.float32).eps
"""Largest difference from 1 that rounding causes in rows of float32 weights."""

Rows = Float[Tensor, "batch head query"]
Numbers = Float[Tensor, "batch head number"]


class KeySums(NamedTuple):
    """Sums over those queries of a text that count towards some keys.

    Attributes:
        given: Amount that the keys receive.
        queries: Number of queries.
        whole: Amount that the queries give to all keys.
        given_rest: Amount that the keys receive, without the first token.
        rest: Amount that the queries give to all keys except the first token.
    """

    given: Tensor
    queries: Tensor
    whole: Tensor
    given_rest: Tensor
    rest: Tensor


class Parts(NamedTuple):
    """Sums over the queries of a text, in float64, of `numbers`; `powers` is of all keys.

    Attributes:
        given: Amount that the keys receive, as in `KeySums`.
        queries: Number of queries, by which `given` and `whole` are divided to means.
        whole: Amount that the queries give to all keys; 1 for each query if the measure is a share.
        given_rest: Amount that the keys receive, without the first token.
        rest: Amount that the queries give to all keys except the first token.
        powers: Amount that all keys receive times the powers of their distance, with and then
            without the first token.
    """

    given: Numbers
    queries: Numbers
    whole: Numbers
    given_rest: Numbers
    rest: Numbers
    powers: Numbers


class _Described(NamedTuple):
    """Pairs of queries and keys of a batch, by kind of key."""

    duplicate: Pairs
    subword: Pairs
    copy: Pairs


@dataclass(frozen=True, eq=False)
class _Masks:
    """Masks of a block of queries, which all measures and layers share; not a tree of tensors.

    Attributes:
        block: First query, number of queries and number of keys.
        columns: ``batch 1 query column``; 0 where a query does not count towards a column of keys;
            the first column is 1 for all queries that are no padding.
        displayed: ``batch 1 query behaviour``; queries that have keys of `SHOWN`.
        queries: ``batch query number``, float64; queries of each sum, then number of times that the
            first token is among its keys, then row of `offset_basis` for the first token.
    """

    block: tuple[int, int, int]
    columns: Tensor
    displayed: Tensor
    queries: Tensor


class _Stacked(NamedTuple):
    """Sums over the queries of a text, in float64, with the heads of all measures concatenated.

    Attributes:
        heads: Slice of heads of each measure.
        sums: ``batch head sum``; amounts that keys receive.
        query_counts: ``batch sum``; numbers of queries.
        queries: ``batch 3·head number``; products with `_Masks.queries` of 1 where a query gives
            something, of the amount that it gives, and of the amount that the first token receives.
        along: ``batch head number``; product of the amounts that keys receive and `offset_basis`.
    """

    heads: Mapping[str, slice]
    sums: Tensor
    query_counts: Tensor
    queries: Tensor
    along: Tensor


class BehaviourCounter(PartObserver):
    """Observer of the behaviours of heads in one batch, by all measures.

    Args:
        batch: Batch of texts.
        examples: Examples that the batch holds.
        kind: Kind of attention; in cross-attention only first tokens are counted.
        measures: Measures observed.
        words: Ids of tokens that belong to a class of words if they are a whole word, by row of the
            table of statistics.
        tokenizer: Tokenizer of the model, for statistics that choose keys; None leaves these out.
        host: Batch on the host, if it is there already.
    """

    on_device = ("_found", "_key_there", "_begin", "_there")

    shares: Array
    """Shares of behaviours in each text, once the batch has been seen: what `members` adds up."""
    _masks: _Masks | None = None
    _stacked: _Stacked | None = None

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[Encoded],
        kind: Kind,
        measures: Sequence[str],
        words: Mapping[str, Sequence[int]] = MappingProxyType({}),
        tokenizer: Any = None,
        host: Batch | None = None,
    ) -> None:
        queries, keys = Positions.for_kind(batch, kind)
        self._measures = measures
        self._units = units_of(examples)
        self._own = kind != "cross"
        self._there, self._key_there = queries.category >= 0, keys.category >= 0
        self._begin = self._key_there.int().argmax(1)
        self._firsts, self._asked = _first_tokens(queries, keys, reads_itself=self._own)
        if self._own:
            # Pairs are made on the host, since their number would have to be fetched from a device.
            host, device = host or batch.on_host(), batch.input_ids.device
            (ids, word), category = _text(host, kind), Positions.for_kind(host, kind)[0].category
            special = [CATEGORIES.index(name) for name in ("cls", "sep")]
            usual = (category >= 0) & ~torch.isin(category, torch.tensor(special))
            pieces = (category == CATEGORIES.index("other")) & (word >= 0)
            self._tokens = Groups.from_labels(ids, usual)
            self._pieces = Groups.from_labels(word.clamp_min(0), pieces)
            whole = whole_words(word, pieces)
            self._words = {
                name: (torch.isin(ids, ids.new_tensor(ids_of_word)) & whole).to(device)
                for name, ids_of_word in words.items()
                if ids_of_word
            }
            self._segmented = torch.tensor([bool(example.segment_names) for example in examples])
            if bool(self._segmented.any()):
                self._words |= {
                    name: tokens_of_segment(examples, segment, self._key_there)
                    for name, segment in segment_rows().items()
                }
            back = torch.arange(ids.shape[1]) - self._tokens.first
            self._repeated = (self._tokens.earlier > 0).to(device)
            self._later = (self._pieces.earlier > 0).to(device)
            # For each query, whether the next token has occurred before, and whether far before.
            self._copied, self._copied_far = (
                torch.nn.functional.pad(mask[:, 1:], (0, 1)).to(device)
                for mask in (self._tokens.earlier > 0, back > FAR)
            )
            self._basis = offset_basis(ids.shape[1]).to(double(self._begin).device)
        self._keys = {}
        if self._own and tokenizer is not None:
            self._keys = chosen_keys(examples, kind, tokenizer, category >= 0)
        self._described: tuple[tuple[int, int], _Described] | None = None
        self._listed: tuple[tuple[int, int, int], PairLists] | None = None
        self._rows: dict[str, Rows] = {}
        self._found: dict[int, dict[str, Any]] = {}
        self._rounding = ROUNDING

    def note_block(self, block: SeenBlock) -> None:
        """Observe the amounts that queries give to keys, by all measures in the same operations."""
        sums, first = block.sums, block.record.first
        masks = self._masks_of(first, *block.record.shape[2:])
        columns = sums.columns[..., len(CATEGORIES) :] * masks.columns
        # In a row of zeros every key would count as a copy.
        rows = torch.cat([columns, sums.pairs * sums.counted[..., None]], -1)
        at_first = columns.shape[3] - 1
        if "weight" in sums.heads:
            shown = rows[:, sums.heads["weight"], :, at_first : at_first + len(SHOWN)]
            shown = shown.where(masks.displayed, torch.nan)
            self._rows = dict(zip(SHOWN, shown.unbind(-1), strict=True))
        if any(measure(name).signed and not measure(name).share for name in sums.heads):
            # In all other measures, rows that do not count are zero anyway.
            rows = rows * sums.counted[..., None]
        given = double(rows.sum(2, dtype=widest(rows.device)))
        amounts = double(torch.cat([sums.counted, sums.whole, rows[..., at_first]], 1))
        query_counts = masks.queries[..., : given.shape[2]].sum(1)
        if self._own:
            along = double(sums.diagonal) @ self._basis
        else:
            along = given.new_zeros(*given.shape[:2], NUMBERS_OF_OFFSETS)
        stacked = _Stacked(sums.heads, given, query_counts, amounts @ masks.queries, along)
        if first and (before := self._stacked) is not None:
            added = (
                earlier + later for earlier, later in zip(before[1:], stacked[1:], strict=True)
            )
            stacked = _Stacked(sums.heads, *added)
        self._stacked = stacked

    def rows_of_weight(self) -> list[Rows]:
        """Return the weight of the latest queries on the keys of `SHOWN`; NaN if not counted."""
        some = self._rows["first"]
        nothing = torch.full_like(some, torch.nan)
        return [self._rows.get(name, nothing) for name in SHOWN]

    def means_of_weight(self) -> Float[Tensor, "shown batch head"]:
        """Return the means of these weights in each text, over the queries of the layer so far."""
        assert self._stacked is not None  # noqa: S101 - a block was seen before
        heads, sums, _, queries, _ = self._stacked
        places = [self._places[name] for name in SHOWN]
        columns, weight = slice(places[0], places[-1] + 1), heads["weight"]
        return (sums[:, weight, columns] / queries[:, weight, columns]).movedim(2, 0)

    @property
    def key_columns(self) -> Float[Tensor, "batch key column"]:
        """Return the sets of keys that depend on no query: all keys, words, first tokens."""
        places = torch.arange(self._key_there.shape[1], device=self._begin.device)
        firsts = places[:, None] == self._firsts.flip(1)[:, None]
        words = [mask[..., None] for mask in self.word_classes]
        everything = torch.ones_like(firsts[..., :1])
        return torch.cat([everything, *words, firsts], -1).float()

    @property
    def _places(self) -> dict[str, int]:
        # `means_of_weight` slices the sums of `SHOWN`, which must stand one after the other.
        words = self._words if self._own else ()
        names = ("missing", *words, *reversed(FIRST_TOKENS), *GROUPS, *self._keys, *COPIES)
        return {name: place for place, name in enumerate(names)}

    @property
    def word_classes(self) -> list[Bool[Tensor, "batch token"]]:
        """Return the masks of tokens that are words of each class; none in cross-attention."""
        return list(self._words.values()) if self._own else []

    def pairs(self, queries: slice, keys: int) -> PairLists:
        """Return the pairs of each statistic of single pairs; cached for other layers.

        Args:
            queries: Range of the queries.
            keys: Number of keys that the queries see, from the first on.
        """
        block = queries.start, queries.stop, keys
        if self._listed is None or self._listed[0] != block:
            lists = [*self._listed_pairs(queries, keys).values()]
            texts = len(self._begin)
            self._listed = block, PairLists(lists, len(COPIES), texts, queries)
        return self._listed[1]

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep the sums over the blocks of the layer."""
        sums: dict[str, Any] = {"stacked": self._stacked}
        if "norm" in self._measures:
            sums["drain"] = layer.scores.vectors.norm
        self._found[layer.record.site.layer] = sums
        self._rounding = max(self._rounding, torch.finfo(layer.record.dtype).eps)

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name; texts are along their first axis."""
        layers = [self._sum_fields(self._found[layer]) for layer in sorted(self._found)]
        names = [name for name in layers[0] if all(name in layer for layer in layers)]
        totals = {name: stacked([layer[name] for layer in layers]) for name in names}
        queries = totals["queries"]
        received, whole = (_quotient(totals[name], queries) for name in ("given", "whole"))
        lacks = received[..., behaviours().index("missing")]
        lacks[np.abs(lacks) < self._rounding] = 0  # rounding of a softmax is no missing share
        first = _quotient(received[..., 0], whole[..., 0])
        sink = np.where(np.isnan(first), np.nan, first > SINK)
        # Sums in blocks of the corpus would take too much memory for all numbers.
        with_interval = slice(len(behaviours()))
        self.shares = _quotient(received, whole)[..., with_interval]
        query_counts = np.nanmax(queries[..., with_interval], axis=(1, 2, 3))
        statistics: dict[str, Accumulator] = {
            "behaviour_rows": _sum_of(query_counts),
            "behaviour": _ratio(received, whole),
            "behaviour_rest": _ratio(totals["given_rest"], totals["rest"]),
            "slots_behaviour": Slots.of(
                self._units, received[..., with_interval], whole[..., with_interval]
            ),
            "slots_behaviour_texts": Slots.of(self._units, (query_counts > 0).astype(np.float64)),
            "slots_behaviour_rest": Slots.of(
                self._units,
                totals["given_rest"][..., with_interval],
                totals["rest"][..., with_interval],
            ),
            **ratios("distance", *distance_ratios(totals["powers"]), self._units),
            **means("sink", sink, self._units),
        }
        if "drain" in totals:
            statistics |= means("drain", self._drain(totals["drain"]), self._units)
        return statistics

    def _sum_fields(self, sums_of_layer: dict[str, Any]) -> dict[str, Tensor]:
        """Return the sums of a layer by field, with measures along the third axis."""
        parts = self._unstack(sums_of_layer.pop("stacked"))
        by_measure = [parts[name] for name in self._measures]
        heads = max(part.given.shape[1] for part in by_measure)
        fields = zip(Parts._fields, zip(*by_measure, strict=True), strict=True)
        sums = {
            name: torch.stack([filled(part, heads) for part in rows], 2) for name, rows in fields
        }
        return sums | sums_of_layer

    def _unstack(self, stacked: _Stacked) -> dict[str, Parts]:
        """Return the parts of each measure; computed on the host, since no array here is large."""
        heads, received, query_counts, queries, along = stacked
        size, places = received.shape[2], self._places
        counts, whole, first = queries.tensor_split(3, 1)
        rest = whole - first
        at_copies = slice(size - len(COPIES), size)
        fields = KeySums(
            given=received,
            queries=query_counts[:, None].expand_as(received),
            whole=torch.cat([whole[..., : at_copies.start], counts[..., at_copies]], -1),
            given_rest=received - first[..., size : 2 * size],
            rest=rest[..., :size],
        )
        names, none = behaviours(), received.new_zeros(())
        order = [places.get(name, -1) for name in names]
        no_rest = [names.index(name) for name in ("first", "missing", *COPIES)]
        number = names.index("missing")
        ordered = KeySums(
            *(torch.nn.functional.pad(values, (0, 1))[..., order] for values in fields)
        )
        ordered.given[..., number] = counts[..., 0] - received[..., 0]
        for values in (ordered.given_rest, ordered.rest):
            values[..., no_rest] = none
        is_own = float(self._own)
        totals = fields.queries[..., 0], whole[..., 0], rest[..., 0]
        joined = _join(
            ordered,
            (along, along - first[..., 2 * size :]),
            [total * is_own for total in totals],
        )
        parts = {}
        for name, heads_of_measure in heads.items():
            parts[name] = Parts(*(values[:, heads_of_measure] for values in joined))
            if not measure(name).share:
                for values in parts[name][:3]:
                    values[..., number] = 0
        return parts

    @property
    def _other_queries(self) -> Bool[Tensor, "batch query"]:
        return self._there & ((self._there.cumsum(1) > 1) | (not self._own))

    def _described_pairs(self, queries: slice) -> _Described:
        """Return the pairs of some queries; cached for the other measures and layers."""
        bounds = queries.start, queries.stop
        if self._described is None or self._described[0] != bounds:
            copy = self._tokens.pairs(bounds[0] + 1, bounds[1] + 1).moved(query=-1)
            described = self._tokens.pairs(*bounds), self._pieces.pairs(*bounds), copy
            self._described = bounds, _Described(*described)
        return self._described[1]

    def _masks_of(self, first: int, size: int, keys: int) -> _Masks:
        # All layers have the same blocks, so that masks are made once for each block.
        if self._masks is None or self._masks.block != (first, size, keys):
            self._masks = self._make_masks(first, size, keys)
        return self._masks

    def _make_masks(self, first: int, size: int, keys: int) -> _Masks:
        queries, columns = slice(first, first + size), self.key_columns
        lists = self.pairs(queries, keys)
        text, _, key, row, _ = lists.joined.to(self._begin.device).unbind(0)
        of_columns, of_pairs, displayed = self._masks_of_queries(queries)
        begin = self._begin[:, None, None].expand(-1, 1, columns.shape[2])
        is_first = (key == self._begin[text]).to(columns.dtype)
        pairs_at_first = columns.new_zeros(of_pairs.numel()).index_add_(0, row, is_first)
        of_first = double(columns).new_zeros(*of_pairs.shape[:2], NUMBERS_OF_OFFSETS)
        if self._own:
            of_first = self._basis[self._places_of_first(queries)]
        firsts = columns.gather(1, begin).expand(-1, size, -1), pairs_at_first.view(of_pairs.shape)
        return _Masks(
            block=(first, size, keys),
            columns=of_columns[:, None].to(columns.dtype),
            displayed=displayed[:, None],
            queries=torch.cat([*map(double, (of_columns, of_pairs, *firsts)), of_first], -1),
        )

    def _listed_pairs(self, queries: slice, keys: int) -> dict[str, Pairs]:
        """Return the pairs of each statistic of single pairs, on the host."""
        pairs = dict.fromkeys((*GROUPS, *self._keys, *COPIES), NO_PAIRS)
        if self._own:
            same, pieces, copies = self._described_pairs(queries)
            far = copies.where(copies.query - copies.key >= FAR)
            kinds = same, same.moved(key=1), pieces, copies, far
            pairs |= zip((*GROUPS, *COPIES), kinds, strict=True)
        for name, chosen in self._keys.items():
            text, query, key = chosen[:, queries, :keys].nonzero().unbind(1)
            pairs[name] = Pairs(text, query + queries.start, key)
        return pairs

    def _masks_of_queries(self, queries: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Return the masks of queries in each sum over keys, over pairs, and in `SHOWN`."""
        present = self._there[:, queries]
        names = *GROUPS, *self._keys, *COPIES
        masks = dict.fromkeys(names, torch.zeros_like(present))
        words = []
        if self._own:
            segmented = present & self._segmented[:, None].to(present.device)
            words = [segmented if name in segment_rows() else present for name in self._words]
            of_statistics = (
                self._repeated,
                self._repeated,
                self._later,
                self._copied,
                self._copied_far,
            )
            own_masks = [mask[:, queries] for mask in of_statistics]
            masks |= zip((*GROUPS, *COPIES), own_masks, strict=True)
        for name, chosen in self._keys.items():
            masks[name] = chosen[:, queries].any(2).to(present.device)
        firsts = self._asked[:, queries].flip(2)
        of_columns = torch.cat([torch.stack([present, *words], -1), firsts], -1)
        of_pairs = torch.stack([*masks.values()], -1)
        displayed = self._other_queries[:, queries, None], of_pairs[..., : len(GROUPS)]
        return of_columns, of_pairs, torch.cat(displayed, -1)

    def _places_of_first(self, block: slice) -> Int64[Tensor, "batch query"]:
        """Return the index, among all offsets, of the offset from each query to the first token."""
        size = self._there.shape[1]
        queries = torch.arange(block.start, block.stop, device=self._begin.device)
        places = (size - 1 + self._begin[:, None] - queries).clamp_max(2 * size - 2)
        return places.to(self._basis.device)

    def _drain(
        self, norm: Float64[np.ndarray, "batch layer head key"]
    ) -> Float64[np.ndarray, "batch layer head"]:
        key_mask, texts = self._key_there.numpy()[:, None, None], np.arange(len(norm))
        median = medians(np.where(key_mask, norm, np.nan))
        return np.asarray(norm[texts, :, :, self._begin.numpy()] / median)


def _join(behaviours: KeySums, along: tuple[Numbers, Numbers], totals: Sequence[Tensor]) -> Parts:
    """Join the sums of behaviours with those along offsets.

    Args:
        behaviours: Sums of each behaviour.
        along: Amounts that keys receive times `offset_basis`, with and without the first token.
        totals: Number of queries, amount that they give to all keys, and amount that they give to
            all keys except the first token.
    """
    (near, powers), (near_rest, powers_rest) = (
        sums_of_offsets.tensor_split([-POWERS], dim=-1) for sums_of_offsets in along
    )
    queries, whole, rest = (total[..., None].expand_as(near) for total in totals)
    near_keys = KeySums(near, queries, whole, near_rest, rest)
    sums = KeySums(*(torch.cat(fields, -1) for fields in zip(behaviours, near_keys, strict=True)))
    return Parts(*sums, torch.cat([powers, powers_rest], -1))


def _text(batch: Batch, kind: Kind) -> tuple[Tensor, Tensor]:
    if kind == "decoder" and batch.target_ids is not None and batch.target_word is not None:
        return batch.target_ids, batch.target_word
    return batch.input_ids, batch.word


def _first_tokens(
    queries: Positions, keys: Positions, *, reads_itself: bool
) -> tuple[Int64[Tensor, "batch first"], Bool[Tensor, "batch query first"]]:
    """Return the positions of the first tokens, and the queries of the text at or after each."""
    query_mask, key_there = queries.category >= 0, keys.category >= 0
    number = torch.arange(len(FIRST_TOKENS), device=query_mask.device)
    begin = key_there.int().argmax(1)
    row_mask = query_mask[..., None] & (number < key_there.sum(1)[:, None, None])
    if reads_itself:
        row_mask &= query_mask.cumsum(1)[..., None] > number
    return begin[:, None] + number, row_mask


def _quotient(part: Array, whole: Array) -> Array:
    quotient: Array = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    return quotient


def _sum_of(rows: Array) -> Count:
    counts = Count(rows.shape[1:])
    counts.update(rows)
    return counts


def _ratio(part: Array, whole: Array) -> Ratio:
    ratio = Ratio(part.shape[1:])
    ratio.update(part, whole)
    return ratio


def observe_behaviours(subject: Subject) -> PartObserver:
    """Return the counter of the behaviours of a batch."""
    model, words = subject.plan.model, {} if subject.reads_sound else subject.words
    tokenizer = model.tokenizer if words else None
    measures = subject.model_pass.measures
    return BehaviourCounter(*subject.texts, measures, words, tokenizer, host=subject.host)
