"""Counter of behaviours in a batch: first tokens, duplicates, induction, copies, word pieces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.catalogue.statistics import FIRST_TOKENS, behaviours, segment_rows
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.observations.layer_arrays import filled, stacked
from headlight.observations.positions import Positions
from headlight.observations.text_ids import units_of
from headlight.pool import Groups, Pairs, offsets_of, over_offsets
from headlight.reduce import Accumulator, Count, Ratio, Slots
from headlight.reduce.accumulator import Array
from headlight.reduce.moments import medians
from headlight.studies.survey.cell_sums import GROUPS, Asked, Sums, listed
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
from headlight.studies.survey.part_observer import (
    PartObserver,
    SeenLayer,
    SeenMeasure,
    SeenTogether,
)
from headlight.studies.survey.text_means import means, ratios
from headlight.tensors import Score, double, single
from headlight.vocabulary import CATEGORIES, DISTANCES, FAR, RELATIVE, SINK, Kind, measure


def numbers() -> tuple[str | int, ...]:
    """Return what is counted of each head, in its order along the last axis."""
    return (*behaviours(), *RELATIVE, *DISTANCES)


SHOWN = ("first", "duplicate", "induction", "subword")
"""Behaviours whose weight is kept for each row, for passages."""

COPIES = ("copy", "copy_far")
"""Behaviours whose keys get as much as any other."""

NO_PAIRS = Pairs(*torch.zeros(3, 0, dtype=torch.int64))

ROUNDING = 16 * torch.finfo(torch.float32).eps
"""Rows of weights in float32 may be off 1 by as much where nothing is missing."""

Rows = Float[Tensor, "batch head query"]
Numbers = Float[Tensor, "batch head number"]


class KeySums(NamedTuple):
    """Sums over the queries of a text that are asked about some keys.

    Attributes:
        given: what the keys get.
        queries: how many queries there are.
        whole: what these give in all.
        given_rest: what the keys get without the first token.
        rest: what the queries give to others than the first token.
    """

    given: Tensor
    queries: Tensor
    whole: Tensor
    given_rest: Tensor
    rest: Tensor


class Parts(NamedTuple):
    """Sums over the queries of a text, float64; of `numbers`, but for the last.

    Attributes:
        given: as in `KeySums`, and so are the next four.
        queries: how many there are; with `given` and `whole` means.
        whole: of a measure that is a share 1 for each query.
        given_rest: without the first token.
        rest: without the first token.
        powers: What all keys get times the powers of their distance; then without the first token.
    """

    given: Numbers
    queries: Numbers
    whole: Numbers
    given_rest: Numbers
    rest: Numbers
    powers: Numbers


class _Described(NamedTuple):
    """Pairs of queries and described keys of a batch, by kind of key."""

    duplicate: Pairs
    subword: Pairs
    copy: Pairs


@dataclass(frozen=True, eq=False)
class _Masks:
    """Masks of a block of queries, which all measures and layers share; no tree of tensors.

    Attributes:
        block: first query, queries and keys.
        columns: ``batch 1 query column``; 0 where a query does not count towards a column of keys;
            the first is 1 for all queries that are no padding.
        pairs: text, query of the block, key, and the row that the pair is added to.
        is_copy: ``pair 1``; pairs whose query must give nothing more to another key.
        kinds: of pairs.
        displayed: ``batch 1 query behaviour``; queries that have keys of `SHOWN`.
        queries: ``batch query number``, float64; queries of each sum, then how often the first
            token is among its keys, then where the first token is in `offset_basis`.
        basis: ``offset number``, float64; `offset_basis` in the order of `over_offsets`.
    """

    block: tuple[int, int, int]
    columns: Tensor
    pairs: tuple[Tensor, Tensor, Tensor, Tensor]
    is_copy: Tensor
    kinds: int
    displayed: Tensor
    queries: Tensor
    basis: Tensor
    share: dict[str, Tensor] = field(default_factory=dict)

    def shares(self, heads: Mapping[str, slice]) -> Bool[Tensor, "head 1"]:
        """Return the mask of heads whose measure is a share as it is; kept for other layers."""
        if (key := str(heads)) not in self.share:
            numbers = [of.stop - of.start for of in heads.values()]
            is_share = torch.tensor([measure(name).share for name in heads])
            of_heads = torch.repeat_interleave(is_share, torch.tensor(numbers))
            self.share[key] = of_heads[:, None].to(self.is_copy.device)
        return self.share[key]


class _Stacked(NamedTuple):
    """Sums over the queries of a text, of measures whose heads stand one after the other, float64.

    Attributes:
        heads: of each measure.
        sums: ``batch head sum``; of what keys get.
        query_counts: ``batch sum``; the number of queries.
        queries: ``batch 3·head number``; of 1 where a query gives something, of what it gives, and
            of what the first token gets, times `_Masks.queries`.
        along: ``batch head number``; of what keys get, times `offset_basis`.
    """

    heads: Mapping[str, slice]
    sums: Tensor
    query_counts: Tensor
    queries: Tensor
    along: Tensor


class BehaviourCounter(PartObserver):
    """Sees all measures of all layers of one batch; `members` is what it saw.

    Args:
        batch: of texts.
        examples: of which it was made.
        kind: of attention; between two texts only the first tokens are looked at.
        measures: that are looked at.
        words: by row of the table of statistics, ids of tokens that belong to its class where they
            are a whole word.
        tokenizer: of the model, for rows that say which keys are meant; None leaves them out.
        host: the batch on the host, where it is there already.
    """

    on_device = ("_found",)

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
        self._firsts, self._asked = _first_tokens(queries, keys, own=self._own)
        if self._own:
            # Pairs are made on the host, so that it need not ask a device how many there are.
            host, device = host or batch.on_host(), batch.input_ids.device
            (ids, word), category = _text(host, kind), Positions.for_kind(host, kind)[0].category
            special = [CATEGORIES.index(name) for name in ("cls", "sep")]
            usual = (category >= 0) & ~torch.isin(category, torch.tensor(special))
            pieces = (category == CATEGORIES.index("other")) & (word >= 0)
            self._tokens = Groups.of(ids, usual)
            self._pieces = Groups.of(word.clamp_min(0), pieces)
            whole = whole_words(word, pieces)
            self._words = {
                name: (torch.isin(ids, ids.new_tensor(ids_of_word)) & whole).to(device)
                for name, ids_of_word in words.items()
                if ids_of_word
            }
            self._segmented = torch.tensor([bool(each.segment_names) for each in examples])
            if bool(self._segmented.any()):
                self._words |= {
                    name: tokens_of_segment(examples, segment, self._key_there)
                    for name, segment in segment_rows().items()
                }
            back = torch.arange(ids.shape[1]) - self._tokens.first
            self._repeated = (self._tokens.earlier > 0).to(device)
            self._later = (self._pieces.earlier > 0).to(device)
            # Of each query the next token: whether it stood before, and whether far before.
            self._copied, self._copied_far = (
                torch.nn.functional.pad(mask[:, 1:], (0, 1)).to(device)
                for mask in (self._tokens.earlier > 0, back > FAR)
            )
            self._basis = offset_basis(ids.shape[1]).to(double(self._begin).device)
        self._keys = {}
        if self._own and tokenizer is not None:
            self._keys = chosen_keys(examples, kind, tokenizer, category >= 0)
        self._described: tuple[tuple[int, int], _Described] | None = None
        self._asked_in_pass: tuple[tuple[int, int], Asked] | None = None
        self._sums: dict[str, Parts] = {}
        self._rows: dict[str, Rows] = {}
        self._found: dict[int, dict[str, Any]] = {}
        self._rounding = ROUNDING

    def note_measure(self, measured: SeenMeasure) -> None:
        """Observe sums over the cells that `asked` names; others are observed together."""
        name, score, record, sums, _ = measured
        if sums is None:
            return
        parts = self._parts_of_sums(name, score, sums, record)
        if record.first:
            parts = Parts(*(one + two for one, two in zip(self._sums[name], parts, strict=True)))
        self._sums[name] = parts

    def note_together(self, measured: SeenTogether) -> None:
        """Observe what each query gives to which keys, for all measures in the same operations."""
        heads, score, columns, record = measured
        masks = self._masks_of(record.first, *score.shape[2:])
        columns = columns * masks.columns
        whole = torch.where(masks.shares(heads), masks.columns[..., 0], columns[..., 0])
        counted = (whole > 0).to(score.dtype)
        text, query, key, row = masks.pairs
        values, largest = score[text, :, query, key], score.amax(3)[text, :, query]
        values = torch.where(masks.is_copy, values >= largest, values)
        shape = *score.shape[:3:2], masks.kinds, score.shape[1]
        to_pairs = values.new_zeros(shape).flatten(0, 2).index_add_(0, row, values)
        to_pairs = to_pairs.view(shape).permute(0, 3, 1, 2)
        # What is counted of copies is the queries, whatever they give.
        copies = (to_pairs[..., -2:] > 0).to(score.dtype)
        parts = columns, to_pairs[..., :-2], copies, counted[..., None], whole[..., None]
        rows = torch.cat(parts, -1)
        first = columns.shape[3] - 1
        if "weight" in heads:
            of_weight = rows[:, heads["weight"], :, first : first + len(SHOWN)]
            of_weight = of_weight.where(masks.displayed, torch.nan)
            self._rows = dict(zip(SHOWN, of_weight.unbind(-1), strict=True))
        wide = double(rows)
        received, counted_rows = wide[..., :-2] * wide[..., -2:-1], wide[..., -2]
        if self._own:
            along = over_offsets(score, counted) @ masks.basis
        else:
            along = wide.new_zeros(*wide.shape[:2], NUMBERS_OF_OFFSETS)
        each = torch.cat([counted_rows, wide[..., -1] * counted_rows, received[..., first]], 1)
        query_counts = masks.queries[..., : received.shape[3]].sum(1)
        stacked = _Stacked(heads, received.sum(2), query_counts, each @ masks.queries, along)
        if record.first and (before := self._stacked) is not None:
            sums = (one + two for one, two in zip(before[1:], stacked[1:], strict=True))
            stacked = _Stacked(heads, *sums)
        self._stacked = stacked

    def rows_of_weight(self) -> list[Rows]:
        """Return the latest queries' weight on the keys of `SHOWN`; NaN if not counted."""
        some = self._rows["first"]
        nothing = torch.full_like(some, torch.nan)
        return [self._rows.get(name, nothing) for name in SHOWN]

    def means_of_weight(self) -> Float[Tensor, "shown batch head"]:
        """Their means in each text, over the queries of the layer so far."""
        if self._stacked is not None and "weight" in self._stacked.heads:
            _, sums, _, queries, _ = self._stacked
            places = [self._places[name] for name in SHOWN]
            columns, weight = slice(places[0], places[-1] + 1), self._stacked.heads["weight"]
            return (sums[:, weight, columns] / queries[:, weight, columns]).movedim(2, 0)
        parts = self._sums["weight"]
        places = [behaviours().index(name) for name in SHOWN]
        received, queries = (
            torch.stack([each[..., place] for place in places])
            for each in (parts.given, parts.queries)
        )
        return torch.where(queries > 0, received / queries, torch.nan)

    @property
    def key_columns(self) -> Float[Tensor, "batch key column"]:
        """Return the keys of the statistics that depend on no query: all, words, first tokens."""
        places = torch.arange(self._key_there.shape[1], device=self._begin.device)
        firsts = places[:, None] == self._firsts.flip(1)[:, None]
        words = [each[..., None] for each in self.word_classes]
        everything = torch.ones_like(firsts[..., :1])
        return torch.cat([everything, *words, firsts], -1).float()

    @property
    def _places(self) -> dict[str, int]:
        """Return the place of the sum of each statistic; `SHOWN` are one after the other."""
        words = self._words if self._own else ()
        names = ("missing", *words, *reversed(FIRST_TOKENS), *GROUPS, *self._keys, *COPIES)
        return {name: place for place, name in enumerate(names)}

    @property
    def word_classes(self) -> list[Bool[Tensor, "batch token"]]:
        """Return the masks of tokens that are words of each class, where that is known."""
        return list(self._words.values()) if self._own else []

    def asked(self, queries: slice) -> Asked:
        """Return the cells that one pass over some queries sums; kept for the next pass."""
        which = queries.start, queries.stop
        if self._asked_in_pass is None or self._asked_in_pass[0] != which:
            masks = [self._asked[:, queries]]
            pairs: tuple[Pairs, ...] = ()
            if self._own:
                kinds = (self._repeated, self._later, self._copied, self._copied_far)
                masks.append(torch.stack([each[:, queries] for each in kinds], -1))
                described = self._described_pairs(queries)
                pairs = described.duplicate, described.subword, described.copy
            everyone = self._there[:, queries, None]
            bounds, keys = listed(pairs, len(self._begin), queries)
            queried = Asked(
                begin=self._begin.numpy(),
                firsts=self._firsts.numpy(),
                queries=torch.cat([*masks, everyone], -1).to(torch.uint8).numpy(),
                bounds=bounds,
                keys=keys,
                first=queries.start,
                far=FAR,
            )
            self._asked_in_pass = which, queried
        return self._asked_in_pass[1]

    def note_layer(self, layer: SeenLayer) -> None:
        """Add up what was observed of the blocks of the layer."""
        sums: dict[str, Any] = {"parts": dict(self._sums), "stacked": self._stacked}
        if "norm" in self._measures:
            sums["drain"] = layer.scores.vectors.norm
        self._found[layer.record.site.layer] = sums
        self._rounding = max(self._rounding, torch.finfo(layer.record.weight.dtype).eps)

    def members(self) -> dict[str, Accumulator]:
        """The statistics of the batch, by name; texts are along their first axis."""
        layers = [self._by_field(self._found[layer]) for layer in sorted(self._found)]
        names = [name for name in layers[0] if all(name in layer for layer in layers)]
        totals = {name: stacked([layer[name] for layer in layers]) for name in names}
        queries = totals["queries"]
        received, whole = (_quotient(totals[name], queries) for name in ("given", "whole"))
        lacks = received[..., behaviours().index("missing")]
        lacks[np.abs(lacks) < self._rounding] = 0  # what a softmax leaves is no share of no token
        first = _quotient(received[..., 0], whole[..., 0])
        sink = np.where(np.isnan(first), np.nan, first > SINK)
        # Sums in blocks of all numbers would take too much memory.
        with_interval = slice(len(behaviours()))
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

    def _by_field(self, found: dict[str, Any]) -> dict[str, Tensor]:
        """Return what was observed of a layer, by field, with measures side by side."""
        parts, stacked = found.pop("parts"), found.pop("stacked")
        if stacked is not None:
            parts |= self._unstacked(stacked)
        by_measure = [parts[name] for name in self._measures]
        heads = max(each.given.shape[1] for each in by_measure)
        fields = zip(Parts._fields, zip(*by_measure, strict=True), strict=True)
        sums = {
            name: torch.stack([filled(each, heads) for each in rows], 2) for name, rows in fields
        }
        return sums | found

    def _unstacked(self, stacked: _Stacked) -> dict[str, Parts]:
        """Return the parts of each measure; on the host, since nothing here is large."""
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
        none, order = received.new_zeros(()), [places.get(name, -1) for name in behaviours()]
        no_rest = [behaviours().index(name) for name in ("first", "missing", *COPIES)]
        number = behaviours().index("missing")
        ordered = KeySums(*(torch.nn.functional.pad(each, (0, 1))[..., order] for each in fields))
        ordered.given[..., number] = counts[..., 0] - received[..., 0]
        for each in (ordered.given_rest, ordered.rest):
            each[..., no_rest] = none
        own = float(self._own)
        everyone = fields.queries[..., 0], whole[..., 0], rest[..., 0]
        joined = _joined(
            ordered,
            (along, along - first[..., 2 * size :]),
            [each * own for each in everyone],
        )
        parts = {}
        for name, of in heads.items():
            parts[name] = Parts(*(each[:, of] for each in joined))
            if not measure(name).share:
                for each in parts[name][:3]:
                    each[..., number] = 0
        return parts

    def _parts_of_sums(self, name: str, score: Score, sums: Sums, record: LayerRecord) -> Parts:
        """Return the parts of the sums of one pass over the cells."""
        factor = sums.row("factor")
        queries = slice(record.first, record.first + factor.shape[2])
        firsts = sums.head("firsts")
        counts = self._counts_of_sums(sums, queries)
        everyone = counts[-1]
        nothing = torch.zeros_like(everyone.rest)
        rows: dict[str, KeySums] = {}
        for number, key in enumerate(FIRST_TOKENS):
            got = firsts[..., number]
            rows[key] = counts[number]._replace(given=got, given_rest=got)
        rows["first"] = rows["first"]._replace(given_rest=nothing, rest=nothing)
        if measure(name).share:
            missing = (factor * (1 - sums.row("total"))).sum(2)
            rows["missing"] = everyone._replace(given=missing, rest=nothing)
        if self._own:
            rows |= self._of_text_of_sums(sums, counts)
        if self._keys:
            rows |= self._of_keys(name, score, sums, queries)
        along = without = nothing[..., None].expand(-1, -1, NUMBERS_OF_OFFSETS)
        along_counts = [nothing] * 3
        if self._own:
            along = sums.head("diagonal") @ self._basis
            of_first = sums.head("first") @ self._basis[self._places_of_first(queries)]
            without = along - of_first
            along_counts = [everyone.queries, everyone.whole, everyone.rest]
        if name == "weight":
            self._rows = self._rows_of_sums(sums, queries)
        return _joined(self._in_order(rows), (along, without), along_counts)

    def _rows_of_sums(self, sums: Sums, queries: slice) -> dict[str, Rows]:
        """Return the rows of each query, from the sums of one pass."""
        rows = {"first": self._of_other_queries(single(sums.head("first")), queries)}
        if self._own:
            masks = self._repeated, self._repeated, self._later
            for key, to_group, mask in zip(
                GROUPS, sums.head("listed").unbind(2), masks, strict=True
            ):
                mask = mask[:, None, queries]
                rows[key] = single(to_group).masked_fill(~mask, torch.nan)
        return rows

    def _counts_of_sums(self, sums: Sums, queries: slice) -> list[KeySums]:
        """Return of the queries of `asked` how many there are and what they give, keys left out."""
        _, wholes, rests = (each.unbind(-1) for each in sums.head("counts").unbind(-1))
        query_counts = torch.from_numpy(self.asked(queries).queries).sum(1).to(wholes[0]).unbind(-1)
        nothing = torch.zeros_like(wholes[0])
        return [
            KeySums(nothing, number[:, None].expand_as(whole), whole, nothing, rest)
            for number, whole, rest in zip(query_counts, wholes, rests, strict=True)
        ]

    def _of_text_of_sums(self, sums: Sums, counts: Sequence[KeySums]) -> dict[str, KeySums]:
        """Return the sums that depend on the tokens of the text, from the sums of one pass."""
        repeated, later, copied, copied_far = range(len(FIRST_TOKENS), len(counts) - 1)
        of_groups: dict[str, KeySums] = {}
        masks = (repeated, repeated, later)
        for key, place, group in zip(GROUPS, masks, sums.head("groups").unbind(2), strict=True):
            to_group, others = group.unbind(-1)
            of_groups[key] = counts[place]._replace(given=to_group, given_rest=others)
        is_counted = (sums.row("factor") != 0).double()
        columns = sums.row("categories")[..., len(CATEGORIES) :]
        for number, (key, is_word) in enumerate(self._words.items()):
            to_group = (is_counted * columns[..., number]).sum(2)
            at_first = is_word.gather(1, self._begin[:, None]).to(to_group)
            others = to_group - at_first * sums.head("first").sum(2)
            of_groups[key] = counts[-1]._replace(given=to_group, given_rest=others)
        hits = sums.head("hits").unbind(-1)
        for key, place, of_queries in zip(COPIES, (copied, copied_far), hits, strict=True):
            # What is counted is the queries, whatever they give.
            giving = sums.head("counts")[..., place, 0]
            nothing = torch.zeros_like(giving)
            queries = counts[place].queries
            of_groups[key] = KeySums(of_queries, queries, giving, nothing, nothing)
        return of_groups

    def _of_keys(
        self, measure_name: str, score: Score, sums: Sums, queries: slice
    ) -> dict[str, KeySums]:
        """Rows of other packages, which say which keys are meant."""
        counted, first = (sums.row("factor") != 0).double(), sums.head("first")
        whole = counted if measure(measure_name).share else counted * sums.row("total")
        of_rows: dict[str, KeySums] = {}
        for name, chosen in self._keys.items():
            here = chosen[:, queries, : score.shape[3]]
            to_keys = (score * here[:, None]).sum(3) * counted
            begin = self._begin[:, None, None].expand(-1, here.shape[1], 1)
            at_first = here.gather(2, begin.clamp_max(here.shape[2] - 1))[..., 0]
            others = to_keys - first * at_first[:, None]
            has_keys = chosen[:, None, queries].any(3)
            query_counts = has_keys.expand_as(whole).double()
            sums_by_row = (
                to_keys,
                query_counts,
                whole * has_keys,
                others,
                (whole - first) * has_keys,
            )
            of_rows[name] = KeySums(*(each.sum(2) for each in sums_by_row))
        return of_rows

    def _in_order(self, rows: Mapping[str, KeySums]) -> KeySums:
        """Numbers in the order of `behaviours`; 0 of 0 where one is not defined."""
        nothing = torch.zeros_like(next(iter(rows.values())).given)
        ordered = [rows.get(key, KeySums(*[nothing] * 5)) for key in behaviours()]
        if self._own:  # texts without segments have none of their numbers
            of = self._segmented.to(nothing)[:, None]
            for place, key in enumerate(behaviours()):
                if key in segment_rows() and key in rows:
                    ordered[place] = KeySums(*(each * of for each in rows[key]))
        return KeySums(*(double(torch.stack(each, -1)) for each in zip(*ordered, strict=True)))

    def _of_other_queries(self, first: Rows, queries: slice) -> Rows:
        """Mask the first token's own query in what queries give to the first token."""
        return first.masked_fill(~self._other_queries[:, None, queries], torch.nan)

    @property
    def _other_queries(self) -> Bool[Tensor, "batch query"]:
        return self._there & ((self._there.cumsum(1) > 1) | (not self._own))

    def _described_pairs(self, queries: slice) -> _Described:
        """Return the pairs of some queries; kept for the other measures and layers."""
        bounds = queries.start, queries.stop
        if self._described is None or self._described[0] != bounds:
            copy = self._tokens.pairs(bounds[0] + 1, bounds[1] + 1).moved(query=-1)
            described = self._tokens.pairs(*bounds), self._pieces.pairs(*bounds), copy
            self._described = bounds, _Described(*described)
        return self._described[1]

    def _masks_of(self, first: int, size: int, keys: int) -> _Masks:
        """Return the masks of a block of queries; kept for the next layer."""
        if self._masks is None or self._masks.block != (first, size, keys):
            self._masks = self._make_masks(first, size, keys)
        return self._masks

    def _make_masks(self, first: int, size: int, keys: int) -> _Masks:
        queries, device = slice(first, first + size), self._begin.device
        columns, pairs = self.key_columns, self._listed_pairs(queries, keys)
        text, query, key = (torch.cat(each) for each in zip(*pairs.values(), strict=True))
        kind = torch.repeat_interleave(torch.tensor([len(each.key) for each in pairs.values()]))
        row = (text * size + query - first) * len(pairs) + kind
        is_copy = (kind >= len(pairs) - len(COPIES)).long()
        text, query, key, row, is_copy = (
            torch.stack([text, query - first, key, row, is_copy]).to(device).unbind(0)
        )
        of_columns, of_pairs, displayed = self._masks_of_queries(queries, list(pairs))
        begin = self._begin[:, None, None].expand(-1, 1, columns.shape[2])
        is_first = (key == self._begin[text]).to(columns.dtype)
        pairs_at_first = columns.new_zeros(of_pairs.numel()).index_add_(0, row, is_first)
        basis = of_first = double(columns).new_zeros(*of_pairs.shape[:2], NUMBERS_OF_OFFSETS)
        if self._own:
            of_first = self._basis[self._places_of_first(queries)]
            offsets, exists = offsets_of(size, keys)
            places = (offsets - first + self._there.shape[1] - 1).clamp(0, len(self._basis) - 1)
            of_offset = torch.where(exists, places, len(self._basis)).to(basis.device)
            basis = torch.nn.functional.pad(self._basis, (0, 0, 0, 1))[of_offset]
        firsts = columns.gather(1, begin).expand(-1, size, -1), pairs_at_first.view(of_pairs.shape)
        return _Masks(
            block=(first, size, keys),
            columns=of_columns[:, None].to(columns.dtype),
            pairs=(text, query, key, row),
            is_copy=is_copy[:, None] > 0,
            kinds=len(pairs),
            displayed=displayed[:, None],
            queries=torch.cat([*map(double, (of_columns, of_pairs, *firsts)), of_first], -1),
            basis=basis,
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

    def _masks_of_queries(
        self, queries: slice, names: Sequence[str]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return which queries have a part in each sum over keys or over pairs, and in `SHOWN`."""
        everyone = self._there[:, queries]
        masks = dict.fromkeys(names, torch.zeros_like(everyone))
        words = []
        if self._own:
            segmented = everyone & self._segmented[:, None].to(everyone.device)
            words = [segmented if name in segment_rows() else everyone for name in self._words]
            own = self._repeated, self._repeated, self._later, self._copied, self._copied_far
            own_masks = [each[:, queries] for each in own]
            masks |= zip((*GROUPS, *COPIES), own_masks, strict=True)
        for name, chosen in self._keys.items():
            masks[name] = chosen[:, queries].any(2).to(everyone.device)
        firsts = self._asked[:, queries].flip(2)
        of_columns = torch.cat([torch.stack([everyone, *words], -1), firsts], -1)
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
        """Return the length of the first token's vector beside that of the median token."""
        key_mask, texts = self._key_there.numpy()[:, None, None], np.arange(len(norm))
        median = medians(np.where(key_mask, norm, np.nan))
        return np.asarray(norm[texts, :, :, self._begin.numpy()] / median)


def _joined(
    behaviours: KeySums, along: tuple[Numbers, Numbers], everyone: Sequence[Tensor]
) -> Parts:
    """Return parts; of the numbers along offsets with and without the first token.

    Args:
        behaviours: sums of each.
        along: what keys get times `offset_basis`, with and without the first token.
        everyone: how many queries there are, what they give, and what to others than that.
    """
    (near, powers), (near_rest, powers_rest) = (
        each.tensor_split([-POWERS], dim=-1) for each in along
    )
    queries, whole, rest = (each[..., None].expand_as(near) for each in everyone)
    near_keys = KeySums(near, queries, whole, near_rest, rest)
    sums = KeySums(*(torch.cat(each, -1) for each in zip(behaviours, near_keys, strict=True)))
    return Parts(*sums, torch.cat([powers, powers_rest], -1))


def _text(batch: Batch, kind: Kind) -> tuple[Tensor, Tensor]:
    """Ids and words of the text that attends to itself."""
    if kind == "decoder" and batch.target_ids is not None and batch.target_word is not None:
        return batch.target_ids, batch.target_word
    return batch.input_ids, batch.word


def _first_tokens(
    queries: Positions, keys: Positions, *, own: bool
) -> tuple[Int64[Tensor, "batch first"], Bool[Tensor, "batch query first"]]:
    """Return the positions of the first tokens, and the queries of the text at or after each."""
    query_mask, key_there = queries.category >= 0, keys.category >= 0
    number = torch.arange(len(FIRST_TOKENS), device=query_mask.device)
    begin = key_there.int().argmax(1)
    row_mask = query_mask[..., None] & (number < key_there.sum(1)[:, None, None])
    if own:
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
    """Return what counts the behaviours of a batch."""
    model, words = subject.plan.model, {} if subject.reads_sound else subject.words
    tokenizer = model.tokenizer if words else None
    measures = subject.one.measures
    return BehaviourCounter(*subject.texts, measures, words, tokenizer, host=subject.host)
