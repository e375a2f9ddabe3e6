"""Known behaviours of heads: sinks, repeated tokens, pieces of words, distances.

Each is a share of a row of a measure that goes to some keys, averaged over the queries of a text.
What says which keys, such as the earlier places of the same token, is made once for a batch, and
shared by heads, layers and measures.  Rows of measures that are no shares are divided by what they
give in all; a row that gives nothing is left out.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import Positions, filled, moments, stacked, units_of
from headlight.analysis.variables import rank_of
from headlight.capture import LayerRecord
from headlight.catalogue.statistics import (
    FIRST_TOKENS,
    Text,
    behaviours,
    segment_rows,
    statistic_table,
)
from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.pool import Groups, Pairs, at_pairs, over_offsets, over_pairs
from headlight.reduce import Accumulator, Count, Ratio, Slots, Strongest
from headlight.reduce.base import Array
from headlight.studies.survey.part import (
    GROUPS,
    PartObserver,
    SeenLayer,
    SeenMeasure,
    Sums,
    inputs_of,
    listed,
    means,
    medians,
    peaks,
    ratios,
)
from headlight.studies.survey.row_loops import Asked
from headlight.tensors import Score, double, single
from headlight.vocabulary import CATEGORIES, DISTANCES, FAR, RELATIVE, SINK, Kind, measure


def numbers() -> tuple[str | int, ...]:
    """Return what is counted of each head, in its order along the last axis."""
    return (*behaviours(), *RELATIVE, *DISTANCES)


SHOWN = ("first", "duplicate", "induction", "subword")
"""Behaviours whose weight is kept for each row, for passages."""

POWERS = 3
"""Number of powers of the distance, from 0: their sums give its mean and variance."""

Rows = Float[Tensor, "batch head query"]
Numbers = Float[Tensor, "batch head number"]
FourSums = tuple[Tensor, Tensor, Tensor, Tensor]
"""Sums that keys get, numbers of queries, and the same without the first token."""


class Parts(NamedTuple):
    """Sums over the queries of a text, float64; of `numbers`, but for the last.

    Attributes:
        given: What the keys get.
        queries: From how many queries; with `given` a mean.
        given_rest: What they get without the first token.
        rest: Of the same queries what they do not give to the first token, each having 1.
        powers: What all keys get times the powers of their distance; then without the first token.
    """

    given: Numbers
    queries: Numbers
    given_rest: Numbers
    rest: Numbers
    powers: Numbers


class _Described(NamedTuple):
    """Pairs of queries and described keys of a batch, by kind of key."""

    duplicate: Pairs
    subword: Pairs
    copy: Pairs
    copy_far: Pairs


class _Block(NamedTuple):
    """A measure of some queries: what all behaviours need of it."""

    score: Score
    queries: slice
    factor: Rows
    counted: Rows
    first: Rows
    """Score of the first token for each query, times `factor`."""

    @property
    def rest(self) -> Rows:
        return self.counted - self.first

    def over(
        self, rows: Rows, mask: Bool[Tensor, "batch query_of_text"]
    ) -> Float[Tensor, "batch head"]:
        """The sum over the queries that are asked."""
        return (rows * mask[:, None, self.queries]).sum(2)


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
        self._ranks = np.array([rank_of(example, kind) for example in examples])
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
            whole = _whole_words(word, pieces)
            self._words = {
                name: (torch.isin(ids, ids.new_tensor(ids_of_word)) & whole).to(device)
                for name, ids_of_word in words.items()
                if ids_of_word
            }
            self._segmented = torch.tensor([bool(each.segment_names) for each in examples])
            if bool(self._segmented.any()):
                self._words |= {
                    name: _of_segment(examples, segment, self._key_there)
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
            self._basis = _basis(ids.shape[1]).to(double(self._begin).device)
        self._keys = {}
        if self._own and tokenizer is not None:
            self._keys = _chosen_keys(examples, kind, tokenizer, self._key_there)
        self._described: tuple[tuple[int, int], _Described] | None = None
        self._asked_in_pass: tuple[tuple[int, int], Asked] | None = None
        self._sums: dict[str, Parts] = {}
        self._rows: dict[str, Rows] = {}
        self._found: dict[int, dict[str, Tensor]] = {}
        self._peaks: dict[int, tuple[Tensor, Tensor]] = {}

    def note_measure(self, measured: SeenMeasure) -> None:
        """Observe what each query gives to which keys; sums are of the cells that `asked` names."""
        name, score, record, sums, _ = measured
        if sums is None:
            parts = self._parts(name, score, record)
        else:
            parts = self._parts_of_sums(name, score, sums, record)
        if record.first:
            parts = Parts(*(one + two for one, two in zip(self._sums[name], parts, strict=True)))
        self._sums[name] = parts

    def rows_of_weight(self) -> list[Rows]:
        """Return the latest queries' weight on the keys of `SHOWN`; NaN if not counted."""
        some = self._rows["first"]
        nothing = torch.full_like(some, torch.nan)
        return [self._rows.get(name, nothing) for name in SHOWN]

    def means_of_weight(self) -> Float[Tensor, "shown batch head"]:
        """Their means in each text, over the queries of the layer so far."""
        sums = self._sums["weight"]
        places = [behaviours().index(name) for name in SHOWN]
        received, queries = (
            torch.stack([each[..., place] for place in places])
            for each in (sums.given, sums.queries)
        )
        return torch.where(queries > 0, received / queries, torch.nan)

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
            everyone = torch.ones_like(self._there[:, queries, None])
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
        by_measure = [self._sums[name] for name in self._measures]
        heads = max(each.given.shape[1] for each in by_measure)
        sums = {
            field: torch.stack([filled(each, heads) for each in parts], 2)
            for field, parts in zip(Parts._fields, zip(*by_measure, strict=True), strict=True)
        }
        if "norm" in self._measures:
            sums["drain"] = layer.scores.vectors.norm
        if (inputs := inputs_of(layer.record)) is not None:
            self._peaks[layer.record.site.layer] = peaks(inputs, self._key_there)
        self._found[layer.record.site.layer] = sums

    def members(self) -> dict[str, Accumulator]:
        """The statistics of the batch, by name; texts are along their first axis."""
        layers = [self._found[layer] for layer in sorted(self._found)]
        names = [name for name in layers[0] if all(name in layer for layer in layers)]
        totals = {name: stacked([layer[name] for layer in layers]) for name in names}
        received, queries = totals["given"], totals["queries"]
        share = np.divide(received, queries, out=np.full_like(received, np.nan), where=queries > 0)
        first = share[..., 0]
        sink = np.where(np.isnan(first), np.nan, first > SINK)
        # Sums in blocks of all numbers would take too much memory.
        with_interval = slice(len(behaviours()))
        statistics: dict[str, Accumulator] = {
            "behaviour_rows": _rows_asked(queries),
            "behaviour": moments(share),
            "behaviour_rest": _ratio(totals["given_rest"], totals["rest"]),
            "slots_behaviour": Slots.of(self._units, share[..., with_interval]),
            "slots_behaviour_rest": Slots.of(
                self._units,
                totals["given_rest"][..., with_interval],
                totals["rest"][..., with_interval],
            ),
            **ratios("distance", *_distances(totals["powers"]), self._units),
            **means("first", _mean_over_heads(first), self._units),
        }
        of_heads = {"sink": sink}
        if {"weight", "norm"} <= set(self._measures):
            of = (first[..., self._measures.index(name)] for name in ("weight", "norm"))
            of_heads["no_op"] = np.subtract(*of)
        if "drain" in totals:
            of_heads["drain"] = self._drain(totals["drain"])
        for name, rows in of_heads.items():
            statistics |= means(name, rows, self._units)
        if len(self._peaks) == len(layers):
            of_layers = [self._activation(*self._peaks[layer]) for layer in sorted(self._peaks)]
            activation = np.stack(of_layers, 1)
            statistics |= means("activation", activation[..., :2], self._units)
            largest = Strongest(activation.shape[1:2], width=2)
            ranks = np.broadcast_to(self._ranks[:, None], activation.shape[:2])
            largest.update(activation[..., 0], ranks, activation[..., 2:])
            statistics["largest_activation"] = largest
        return statistics

    def _parts(self, name: str, score: Score, record: LayerRecord) -> Parts:
        """By the definition of each number, one pass over the cells after the other."""
        block = self._block(name, score, record)
        sums = None
        if self._own:
            first, keys = block.queries.start, self._there.shape[1]
            sums = double(over_offsets(block.score, block.factor, first=first, keys=keys))
        counts = double(block.counted.sum(2)), double(block.rest.sum(2))
        return self._joined(
            self._behaviours(block, name), sums, double(block.first), counts, block.queries
        )

    def _parts_of_sums(self, name: str, score: Score, sums: Sums, record: LayerRecord) -> Parts:
        """Return the parts of the sums of one pass over the cells."""
        first = record.first
        firsts, counts, rests = sums.head("firsts"), *sums.head("counts").unbind(-1)
        nothing = torch.zeros_like(rests[..., 0])
        rows: dict[str, FourSums] = {}
        for number, key in enumerate(FIRST_TOKENS):
            got = firsts[..., number]
            rows[key] = got, counts[..., number], nothing, nothing
            if number:
                rows[key] = got, counts[..., number], got, rests[..., number]
        count, rest = counts[..., -1], rests[..., -1]
        factor = sums.row("factor")
        if measure(name).share:
            missing = (factor * (1 - sums.row("total"))).sum(2)
            rows["missing"] = missing, count, nothing, nothing
        if self._own:
            rows |= self._of_text_of_sums(sums)
        if self._keys:
            rows |= self._of_keys(self._block(name, score, record))
        by_offset = sums.head("diagonal") if self._own else None
        queries = slice(first, first + factor.shape[2])
        if name == "weight":
            self._rows = self._rows_of_sums(sums, queries)
        return self._joined(
            self._in_order(rows), by_offset, sums.head("first"), (count, rest), queries
        )

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

    def _of_text_of_sums(self, sums: Sums) -> dict[str, FourSums]:
        """Return the sums that depend on the tokens of the text, from the sums of one pass."""
        counts, rests = sums.head("counts").unbind(-1)
        repeated, later, copied, copied_far = range(len(FIRST_TOKENS), counts.shape[-1] - 1)
        count, rest = counts[..., -1], rests[..., -1]
        nothing = torch.zeros_like(rest)
        of_groups: dict[str, FourSums] = {}
        masks = (repeated, repeated, later)
        for key, place, group in zip(GROUPS, masks, sums.head("groups").unbind(2), strict=True):
            to_group, others = group.unbind(-1)
            of_groups[key] = to_group, counts[..., place], others, rests[..., place]
        columns = sums.row("categories")[..., len(CATEGORIES) :]
        for number, (key, is_word) in enumerate(self._words.items()):
            to_group = (sums.row("factor") * columns[..., number]).sum(2)
            at_first = is_word.gather(1, self._begin[:, None]).to(to_group)
            others = to_group - at_first * sums.head("first").sum(2)
            of_groups[key] = to_group, count, others, rest
        for number, (key, place) in enumerate((("copy", copied), ("copy_far", copied_far))):
            of_groups[key] = sums.head("hits")[..., number], counts[..., place], nothing, nothing
        return of_groups

    def _joined(
        self,
        behaviours: FourSums,
        by_offset: Float[Tensor, "batch head offset"] | None,
        first: Rows,
        counts: tuple[Tensor, Tensor],
        queries: slice,
    ) -> Parts:
        """Return the parts of some queries, with the sums over offsets where there are some."""
        received, counts_of_queries, given_rest, rest = behaviours
        if by_offset is not None:
            of_first = first @ self._basis[self._places_of_first(queries)]
            along = by_offset @ self._basis
            without = along - of_first
            counted, counted_rest = (
                each[..., None].expand_as(along[..., :-POWERS]) for each in counts
            )
        else:
            size = len(RELATIVE) + len(DISTANCES) + POWERS
            along = without = received.new_zeros(*received.shape[:2], size)
            counted = counted_rest = along[..., :-POWERS]
        powers = torch.cat([along[..., -POWERS:], without[..., -POWERS:]], -1)
        along, without = along[..., :-POWERS], without[..., :-POWERS]
        return Parts(
            torch.cat([received, along], -1),
            torch.cat([counts_of_queries, counted], -1),
            torch.cat([given_rest, without], -1),
            torch.cat([rest, counted_rest], -1),
            powers,
        )

    def _block(self, name: str, score: Score, record: LayerRecord) -> _Block:
        """Return the factors that make rows shares, and the mask of rows that give anything."""
        queries = slice(record.first, record.first + score.shape[2])
        row_mask = self._there[:, None, queries]
        if measure(name).share:
            factor = row_mask.to(score.dtype).expand(score.shape[:3])
            counted = factor
        else:
            whole = score.sum(3)
            some = row_mask & (whole > 0)
            factor = torch.where(some, 1 / whole.where(some, 1), 0)
            counted = some.to(score.dtype)
        # Of a text whose padding is before it, a block may end before the first token.
        begin = self._begin.clamp_max(score.shape[3] - 1)[:, None, None, None]
        begin = begin.expand(*score.shape[:3], 1)
        first = score.gather(3, begin)[..., 0] * factor
        return _Block(score, queries, factor, counted, first)

    def _behaviours(self, block: _Block, name: str) -> FourSums:
        """The first four fields of `Parts`, of `behaviours`."""
        nothing = torch.zeros_like(block.first[..., 0])
        rows: dict[str, FourSums] = {}
        if name == "weight":
            self._rows = {"first": self._of_other_queries(block.first, block.queries)}
        to_first = self._to_first_tokens(block)
        for number, key in enumerate(FIRST_TOKENS):
            row_mask = self._asked[..., number]
            got, queries = to_first[..., number], block.over(block.counted, row_mask)
            rest = block.over(block.rest, row_mask) if number else nothing
            rows[key] = got, queries, got if number else nothing, rest
        if measure(name).share:
            missing = (block.factor - block.factor * block.score.sum(3)).sum(2)
            rows["missing"] = missing, block.counted.sum(2), nothing, nothing
        if self._own:
            rows |= self._of_text(block, name)
        if self._keys:
            rows |= self._of_keys(block)
        return self._in_order(rows)

    def _of_keys(self, block: _Block) -> dict[str, FourSums]:
        """Rows of other packages, which say which keys are meant."""
        sums: dict[str, FourSums] = {}
        for name, chosen in self._keys.items():
            here = chosen[:, block.queries, : block.score.shape[3]]
            to_keys = (block.score * here[:, None]).sum(3) * block.factor
            begin = self._begin[:, None, None].expand(-1, here.shape[1], 1)
            at_first = here.gather(2, begin.clamp_max(here.shape[2] - 1))[..., 0]
            others = to_keys - block.first * at_first[:, None]
            has_keys = chosen.any(2)
            counts = block.over(block.counted, has_keys), block.over(block.rest, has_keys)
            sums[name] = to_keys.sum(2), counts[0], others.sum(2), counts[1]
        return sums

    def _in_order(self, rows: Mapping[str, FourSums]) -> FourSums:
        """Numbers in the order of `behaviours`; 0 of 0 where one is not defined."""
        undefined = (torch.zeros_like(next(iter(rows.values()))[0]),) * 4
        ordered = [rows.get(key, undefined) for key in behaviours()]
        if self._own:  # texts without segments have none of their numbers
            of = self._segmented.to(undefined[0])[:, None]
            for place, key in enumerate(behaviours()):
                if key in segment_rows() and key in rows:
                    received, queries, rest, others = rows[key]
                    ordered[place] = received * of, queries * of, rest * of, others * of
        received, queries, given_rest, rest = (
            double(torch.stack(parts, -1)) for parts in zip(*ordered, strict=True)
        )
        return received, queries, given_rest, rest

    def _to_first_tokens(self, block: _Block) -> Numbers:
        """Return the sums for each of the first tokens, from the queries at or after it."""
        shape = (*block.score.shape[:3], len(FIRST_TOKENS))
        firsts = self._firsts.clamp_max(block.score.shape[3] - 1)
        to_first = block.score.gather(3, firsts[:, None, None].expand(shape))
        row_mask = self._asked[:, None, block.queries]
        return (to_first * block.factor[..., None] * row_mask).sum(2)

    def _of_other_queries(self, first: Rows, queries: slice) -> Rows:
        """Mask the first token's own query in what queries give to the first token."""
        row_mask = self._there & ((self._there.cumsum(1) > 1) | (not self._own))
        return first.masked_fill(~row_mask[:, None, queries], torch.nan)

    def _of_text(self, block: _Block, name: str) -> dict[str, FourSums]:
        """Return the sums that depend on the tokens of the text."""
        described, texts = self._described_pairs(block.queries), len(block.score)
        nothing = torch.zeros_like(block.first[..., 0])
        sums = {}
        for key, pairs, row_mask in (
            ("duplicate", described.duplicate, self._repeated),
            ("induction", described.duplicate.moved(key=1), self._repeated),
            ("subword", described.subword, self._later),
        ):
            to_pairs = at_pairs(block.score, pairs, block.queries.start)
            to_pairs = to_pairs * self._of_queries(block.factor, pairs, block)
            if name == "weight":
                of_queries = self._over_queries(to_pairs, pairs, block)
                self._rows[key] = of_queries.masked_fill(
                    ~row_mask[:, None, block.queries], torch.nan
                )
            others = to_pairs * (pairs.key != self._begin[pairs.text])[:, None]
            all_given, rest = (over_pairs(each, pairs, texts) for each in (to_pairs, others))
            counts = block.over(block.counted, row_mask), block.over(block.rest, row_mask)
            sums[key] = all_given, counts[0], rest, counts[1]
        if self._words:
            column = (block.factor[:, :, None] @ block.score)[:, :, 0]
            begin = self._begin.clamp_max(column.shape[2] - 1)[:, None, None]
            all_given, rest = block.counted.sum(2), block.rest.sum(2)
        for key, each in self._words.items():
            is_word = each[:, None, : column.shape[2]].to(column.dtype)
            to_pairs = (column * is_word).sum(2)
            at_first = is_word.gather(2, begin)[..., 0]
            sums[key] = to_pairs, all_given, to_pairs - at_first * block.first.sum(2), rest
        top = block.score.amax(3)
        for key, pairs, row_mask in (
            ("copy", described.copy, self._copied),
            ("copy_far", described.copy_far, self._copied_far),
        ):
            hit = at_pairs(block.score, pairs, block.queries.start)
            hit = (hit >= self._of_queries(top, pairs, block)).to(top.dtype)
            hits = self._over_queries(hit, pairs, block).clamp_max(1) * block.counted
            count = block.over(block.counted, row_mask)
            sums[key] = hits.sum(2), count, nothing, nothing
        return sums

    def _over_queries(
        self, values: Float[Tensor, "pair head"], pairs: Pairs, block: _Block
    ) -> Rows:
        """The sum of what the pairs of each query have."""
        texts, heads, queries = block.first.shape
        row = pairs.text * queries + pairs.query - block.queries.start
        sums = values.new_zeros(texts * queries, heads).index_add_(0, row, values)
        return sums.view(texts, queries, heads).transpose(1, 2)

    def _of_queries(self, rows: Rows, pairs: Pairs, block: _Block) -> Float[Tensor, "pair head"]:
        """Return the values of the query of each pair."""
        return rows[pairs.text, :, pairs.query - block.queries.start]

    def _described_pairs(self, queries: slice) -> _Described:
        """Return the pairs of some queries; kept for the other measures and layers."""
        bounds = queries.start, queries.stop
        if self._described is None or self._described[0] != bounds:
            copy = self._tokens.pairs(bounds[0] + 1, bounds[1] + 1).moved(query=-1)
            pairs_of_kinds = (
                self._tokens.pairs(*bounds),
                self._pieces.pairs(*bounds),
                copy,
                copy.where(copy.query - copy.key >= FAR),
            )
            described = _Described(*(pairs.on(self._begin.device) for pairs in pairs_of_kinds))
            self._described = bounds, described
        return self._described[1]

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

    def _activation(
        self, place: Int64[Tensor, " batch"], size: Float[Tensor, "batch size"]
    ) -> Float64[np.ndarray, "batch 4"]:
        """Return the largest entry: size, beside the median of its vector; dimension and place."""
        largest, dimension = size.max(1)
        ratio = largest / torch.from_numpy(medians(size.numpy()))
        statistics = largest, ratio, dimension, place - self._begin
        return torch.stack([double(each) for each in statistics], 1).numpy()


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


def _whole_words(
    word: Int64[Tensor, "batch token"], pieces: Bool[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """Return the mask of tokens that are a word, and no piece of a longer one."""
    label = word.masked_fill(~pieces, -1)
    same = (label[:, 1:] == label[:, :-1]) & pieces[:, 1:]
    pad = torch.nn.functional.pad
    return ~pad(same, (1, 0)) & ~pad(same, (0, 1))


def _of_segment(
    examples: Sequence[Encoded], name: str, present: Bool[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """Return the mask of tokens of a named segment."""
    mask = torch.zeros_like(present, device="cpu")
    for number, example in enumerate(examples):
        if example.segment_names:
            own = torch.tensor([each == name for each in example.segment_names])
            mask[number][present[number].cpu()] = own
    return mask.to(present.device)


def _chosen_keys(
    examples: Sequence[Encoded], kind: Kind, tokenizer: Any, token_mask: Bool[Tensor, "batch token"]
) -> dict[str, Bool[Tensor, "batch query token"]]:
    """Return by row of another package which keys are meant, from each query of each text."""
    masks: dict[str, Tensor] = {}
    for row in statistic_table():
        if row.keys is None:
            continue
        masks[row.name] = torch.zeros(*token_mask.shape, token_mask.shape[1], dtype=torch.bool)
        for number, example in enumerate(examples):
            text = _text_of(example, kind, tokenizer)
            chosen, size = np.asarray(row.keys(text)), len(text.tokens)
            if chosen.dtype != bool or chosen.shape != (size, size):
                raise UsageError(
                    f"the statistic {row.name!r} must choose keys by a boolean array of shape "
                    f"{(size, size)}, not by one of {chosen.dtype} and {chosen.shape}."
                )
            own = token_mask[number].cpu()
            masks[row.name][number][torch.outer(own, own)] = torch.from_numpy(chosen).flatten()
    return {name: each.to(token_mask.device) for name, each in masks.items()}


def _text_of(example: Encoded, kind: Kind, tokenizer: Any) -> Text:
    """Return the text that attends to itself, as rows of other packages see it."""
    if kind == "decoder" and example.target:
        parts = example.target, example.target_words, example.target_categories
    else:
        parts = example.ids, example.words, example.categories
    ids, words, codes = parts
    return Text(token_names(tokenizer, ids), words, [CATEGORIES[code] for code in codes])


def _basis(size: int) -> Float[Tensor, "offset number"]:
    """Return `RELATIVE`, `DISTANCES` and powers of every offset in a text of this size."""
    offset = torch.arange(1 - size, size)
    distance = offset.abs()
    relative = offset[:, None] == torch.tensor(RELATIVE)
    edges = torch.tensor(DISTANCES)
    bins = torch.bucketize(distance, edges, right=True) - 1
    in_bin = bins[:, None] == torch.arange(len(edges))
    powers = distance.double()[:, None] ** torch.arange(POWERS)
    return torch.cat([relative.double(), in_bin.double(), powers], 1)


def _mean_over_heads(values: Array) -> Array:
    """Return the mean of each text over the heads with a value, by measure."""
    has_value = ~np.isnan(values)
    count = has_value.sum((1, 2))
    total = np.where(has_value, values, 0).sum((1, 2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _rows_asked(queries: Array) -> Count:
    """Count the queries of each behaviour; a measure that is 0 at a query counts fewer."""
    most = np.nanmax(queries[..., : len(behaviours())], axis=(1, 2, 3))
    counts = Count(most.shape[1:])
    counts.update(most)
    return counts


def _ratio(part: Array, whole: Array) -> Ratio:
    ratio = Ratio(part.shape[1:])
    ratio.update(part, whole)
    return ratio


def _distances(powers: Array) -> tuple[Array, Array]:
    """Distance and squared distance, then both without the first token; and what they are of."""
    with_first, without = np.split(powers, 2, axis=-1)
    parts = np.concatenate([with_first[..., 1:], without[..., 1:]], -1)
    wholes = [np.repeat(each[..., :1], POWERS - 1, -1) for each in (with_first, without)]
    return parts, np.concatenate(wholes, -1)
