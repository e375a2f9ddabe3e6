"""Attention of heads to and from tokens of the vocabulary: exact sums over a corpus.

The first token of a text, which in a decoder gets most whatever it is, is left out, as a key and as
a query.  A key counts by the amount that it receives from all queries of its text; a query counts
by the amount that it gives to ordinary tokens, which are neither special ones nor the first.  Rows
of measures that are no shares are divided by their totals.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.plan import StudyPlan
from headlight.observations.layer_arrays import filled, stacked
from headlight.reduce import Accumulator, KeyedSums
from headlight.reduce.accumulator import Array
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock, SeenLayer
from headlight.studies.survey.query_and_key_tokens import sides
from headlight.tensors import double
from headlight.vocabulary import CATEGORIES, Kind

SIDES = ("key", "query")
ORDINARY = ("punctuation", "other")
SHOWN = 8
"""Number of tokens of a side that a result names for each head and measure."""

MOST_NUMBERS = 2**23
"""Largest number of sums held, 64 MB: with more heads, fewer tokens are counted."""

GROUP = ("side", "measure", "layer", "head")

VARIABLES = {
    "top_token": ("token that gets, or gives, most beyond its frequency", "1"),
    "top_token_share": ("its share of all that tokens get, or give", "1"),
    "top_token_lift": ("that share divided by its share of the tokens", "1"),
    "top_token_count": ("how often it stands in the corpus", "1"),
    "token_divergence": ("divergence of what tokens get, or give, from their frequencies", "nat"),
    "token_coverage": ("share of the corpus' tokens that are among those looked at", "1"),
}


class TokenCounter(PartObserver):
    """Counter of attention to and from types of tokens in one batch, by all measures.

    Args:
        batch: Batch of texts.
        kind: Kind of attention; in cross-attention no first token is left out.
        measures: Measures observed.
        limit: Number of types of tokens counted; see `KeyedSums`.
        host: Batch on the host, if it is there already.
    """

    on_device = ("_found",)

    def __init__(
        self,
        batch: Batch,
        kind: Kind,
        measures: Sequence[str],
        limit: int,
        host: Batch | None = None,
    ) -> None:
        self._measures = measures
        self._limit = limit
        # On the host, since the number of types would have to be fetched from a device.
        ids, categories = sides(host or batch.on_host(), kind)
        masks = [category >= 0 for category in categories]
        if kind != "cross":
            masks = [mask & (mask.cumsum(1) > 1) for mask in masks]
        self._types = [
            _Types(ids[side], _is_special(categories[side]), masks[side]) for side in (1, 0)
        ]
        begin = (categories[1] >= 0).int().argmax(1, keepdim=True)
        ordinary = ~_is_special(categories[1].gather(1, begin))
        device = batch.input_ids.device
        # A special first token is no ordinary one, so that nothing has to be subtracted.
        self._takes_first_off = kind != "cross" and bool(ordinary.any())
        self._first_is_ordinary = ordinary.to(device)
        self._width = categories[0].shape[1]
        self._given: tuple[Mapping[str, slice], Tensor, Tensor] = {}, begin, begin
        self._found: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def note_block(self, block: SeenBlock) -> None:
        """Observe the amounts that keys receive and that queries give to ordinary tokens."""
        sums, first = block.sums, block.record.first
        queries = slice(first, first + sums.entropy.shape[2])
        punctuation, others = (sums.columns[..., CATEGORIES.index(name)] for name in ORDINARY)
        gives = punctuation + others
        if self._takes_first_off:
            gives = gives - sums.columns[..., -1] * self._first_is_ordinary[..., None]
        gives = gives * sums.factor
        if block.record.block is None:
            self._given = sums.heads, sums.received, gives
            return
        if not first:
            shape = *gives.shape[:2], self._width
            self._given = sums.heads, torch.zeros_like(sums.received), gives.new_zeros(shape)
        _, whole_received, whole_given = self._given
        whole_received += sums.received
        whole_given[..., queries] = gives

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep the amounts of the layer, by measure."""
        heads, received, given = self._given
        self._found[layer.record.site.layer] = [
            (received[:, heads[name]], given[:, heads[name]]) for name in self._measures
        ]

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        layers = [self._found[layer] for layer in sorted(self._found)]
        members: dict[str, Accumulator] = {}
        for side, (name_of_side, types) in enumerate(zip(SIDES, self._types, strict=True)):
            sums = stacked([types.sums([by_side[side] for by_side in layer]) for layer in layers])
            for name, rows in (("sums", sums), ("counts", types.counts)):
                type_sums = KeyedSums(rows.shape[1:], self._limit)
                type_sums.update(types.keys, rows)
                members[f"token_{name_of_side}_{name}"] = type_sums
        return members


class _Types:
    """Distinct tokens of one side of a batch."""

    def __init__(
        self,
        ids: Int64[Tensor, "batch position"],
        special: Bool[Tensor, "batch position"],
        mask: Bool[Tensor, "batch position"],
    ) -> None:
        # Special tokens get negative keys, so that they are among the lowest, which are kept.
        keys = torch.where(special, -1 - ids, ids)
        types, place, counts = np.unique(
            keys[mask].numpy(), return_inverse=True, return_counts=True
        )
        self.keys, self.counts = types.astype(np.float64), counts.astype(np.float64)
        self._there = mask.nonzero(as_tuple=True)
        self._place = torch.from_numpy(place)

    def sums(
        self, by_measure: Sequence[Float[Tensor, "batch _ position"]]
    ) -> Float[Tensor, "type head measure"]:
        """Sum the values of all tokens of each type."""
        heads = max(values_of_measure.shape[1] for values_of_measure in by_measure)
        values = torch.stack(
            [filled(double(values_of_measure), heads) for values_of_measure in by_measure]
        )
        rows = double(values.permute(1, 3, 2, 0)[self._there])
        return rows.new_zeros(len(self.keys), *rows.shape[1:]).index_add_(0, self._place, rows)


def _is_special(category: Int64[Tensor, "batch position"]) -> Bool[Tensor, "batch position"]:
    return (category == CATEGORIES.index("cls")) | (category == CATEGORIES.index("sep"))


def types_within_memory(number: int, heads: int, measures: int) -> int:
    """Return the number of requested types of tokens that fit into memory."""
    return min(number, MOST_NUMBERS // max(len(SIDES) * heads * measures, 1))


def of_token_types(sums: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Return the variables of types of tokens; nothing if none were counted.

    The tokens of a head are those that contribute most to the divergence of their share p of
    attention from their frequency q in the corpus, Σ p ln(p / q): they get much, and more than
    others.
    """
    if "token_key_sums" not in sums:
        return {}
    parts = [
        _summarise_side(*(sums[f"token_{side}_{statistic}"] for statistic in ("sums", "counts")))
        for side in SIDES
    ]
    ids, *numbers = (np.stack(values) for values in zip(*parts, strict=True))
    types = np.unique(ids[np.isfinite(ids)]).astype(int)
    names = dict(zip(types.tolist(), tokenizer.convert_ids_to_tokens(types.tolist()), strict=True))
    texts = np.array(
        [names.get(token_id, "") for token_id in np.nan_to_num(ids, nan=-1).ravel().tolist()]
    )
    top = (*GROUP, "top")
    dims = (top, top, top, GROUP, "side")
    variables = {"top_token": (top, texts.reshape(ids.shape).astype(object))}
    return variables | {
        name: (axes, values)
        for name, axes, values in zip(list(VARIABLES)[1:], dims, numbers, strict=True)
    }


def _summarise_side(sums: Mapping[str, Array], counts: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return ids, shares, lifts and counts of the tokens of each head; divergence; coverage."""
    keys, received, whole = (
        sums["key"],
        np.moveaxis(sums["sum"], 3, 1),
        np.moveaxis(sums["whole"], 2, 0),
    )
    often, total = counts["sum"], float(counts["whole"])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(whole > 0, received / whole, np.nan)
        frequency = (often / total)[:, None, None, None]
        lift = share / frequency
        part = np.where(share > 0, share * np.log(lift), 0)
        others, rare = 1 - share.sum(0), 1 - often.sum() / total
        of_others = np.where((others > 0) & (rare > 0), others * np.log(others / rare), 0)
    divergence = np.where(whole > 0, part.sum(0) + of_others, np.nan)
    best = np.argsort(-part, axis=0, kind="stable")[:SHOWN]
    chosen = [
        np.take_along_axis(np.broadcast_to(values, part.shape), best, 0)
        for values in (
            np.where(keys < 0, -1 - keys, keys)[:, None, None, None],
            share,
            lift,
            often[:, None, None, None],
        )
    ]
    real = np.take_along_axis(part, best, 0) > 0
    missing = ((0, SHOWN - len(best)), (0, 0), (0, 0), (0, 0))
    chosen = [
        np.pad(np.where(real, values, np.nan), missing, constant_values=np.nan) for values in chosen
    ]
    return (*(np.moveaxis(values, 0, -1) for values in chosen), divergence, np.array(1 - rare))


def token_types(outcome: Outcome) -> Variables:
    """Return the types of tokens that stand out by head; nothing if none were counted."""
    variables = of_token_types(outcome.statistics, outcome.tokenizer)
    return {"side": list(SIDES), **variables} if variables else {}


def observe(subject: Subject) -> PartObserver | None:
    """Return the counter of types of tokens; None if none are counted."""
    plan, measures = subject.plan, subject.model_pass.measures
    limit = _types(plan, subject.settings.token_types, len(measures))
    if not limit:
        return None
    return TokenCounter(subject.batch, plan.kind, measures, limit, subject.host)


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return the number of types of tokens that were counted."""
    limit = _types(outcome.plan, outcome.settings.token_types, len(outcome.measures))
    return {"token_types": limit} if "top_token" in outcome.variables else {}


def _types(plan: StudyPlan[Encoded], most: int, measures: int) -> int:
    """Return the number of types of tokens to count; 0 where they have no names, as frames."""
    if plan.model.tokenizer is None or (plan.model.hears and plan.kind != "decoder"):
        return 0
    heads = len(plan.layers) * max(site.heads for site in plan.sites)
    return types_within_memory(most, heads, measures)
