"""Numbers that are computed on request: the importance of heads, and their null space."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import LENGTH_BIN, Positions, Texts, array, stacked
from headlight.analysis.variables import Variable, with_slots
from headlight.capture import Kind, Prepared, Reduction
from headlight.errors import CaptureError, CorpusError
from headlight.measures import Scores
from headlight.measures.effective import comoments, correlation
from headlight.pool import Membership, membership, over_keys
from headlight.reduce import Accumulator, Count, Grouped, Moments, Sample
from headlight.studies.survey.part import Outcome, PartObserver, SeenLayer, Variables, means, number
from headlight.tensors import double
from headlight.vocabulary import CATEGORIES

IMPORTANCE_VARIABLES = {
    "importance": Variable(
        "mean |∂L/∂α| of the pairs of two categories", "nat", interval="positive"
    ),
    "loss": Variable("mean loss of a predicted token", "nat", interval="positive"),
    "predicted_tokens": Variable("tokens that were predicted"),
    "masked_tokens": Variable("tokens that were hidden"),
}

KEY_CATEGORIES = ("unmasked", *CATEGORIES, "masked")
"""``masked`` are the mask tokens; ``unmasked`` all others, of which the categories are parts."""

QUERY_CATEGORIES = ("all", *CATEGORIES, "masked")
"""Categories of queries: as those of keys, but for the first, which is every token."""

Cells = Float[Tensor, "batch query_category key_category"]


def importance(outcome: Outcome) -> Variables:
    """Return means over documents by head and category; nothing where no loss was observed.

    For a head and a category C of keys, the mean over documents of the mean over all queries i and
    all keys j in C that i can see, of |∂L/∂α_ij|.  Documents without such a pair are left out of
    that mean.  Dropout is off, and α is differentiated as what the values are multiplied with, as
    if each could change alone.  The paper does not say how the loss is scaled, so compare shapes
    with its Figure 3, not values.

    Raises:
        CorpusError: nothing was predicted.

    Source: Clark et al. (2019), Section 3.2.
    """
    statistics = outcome.found
    if "importance" not in statistics:
        return {}
    if not statistics["loss"]["count"] > 0:
        raise CorpusError(
            f"{outcome.plan.source}: nothing in it can be predicted; every text is too short."
        )
    dims = ("layer", "head", "importance_query", "importance_key")
    return {
        "importance_query": list(QUERY_CATEGORIES),
        "importance_key": list(KEY_CATEGORIES),
        **number("importance", dims, statistics, "importance"),
        **number("loss", (), statistics, "loss"),
        "predicted_tokens": ((), statistics["predicted"]["total"]),
        "masked_tokens": ((), statistics["masked"]["total"]),
    }


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return in how many texts nothing was predicted, and what the loss is."""
    objective = outcome.one.objective
    if "importance" not in outcome.found or objective is None:
        return {}
    unpredicted = int(outcome.found["unpredicted"]["total"])
    return {"unpredicted": unpredicted, "objective": json.dumps(objective.settings())}


class ImportanceObserver(PartObserver):
    """Sees |∂L/∂α| of one batch, and averages it over the pairs of positions of each category.

    A pair counts if the query can see the key.  Documents of which nothing is predicted are left
    out of all averages, and counted.

    Args:
        batch: what the model is given.
        kind: which attention is looked at.
        reduction: how the loss of a document was made.
        units: the unit of the corpus that each text is of.
    """

    def __init__(
        self, batch: Prepared, kind: Kind, reduction: Reduction, units: Int64[np.ndarray, " text"]
    ) -> None:
        self._units = units
        queries, keys = Positions.for_kind(batch, kind)
        of_source = batch.masked
        none_masked = torch.zeros_like(queries.category, dtype=torch.bool)
        self._queries = _members(
            queries.category, of_source if queries.category is batch.category else none_masked
        )
        self._keys = _members(
            keys.category, of_source if keys.category is batch.category else none_masked
        )
        self._queries[..., 0] = (queries.category >= 0).float()
        self._masked = of_source.sum(-1)
        self._predicted = batch.predicted
        self._reduction = reduction
        self._means: dict[int, Float[Tensor, "batch head query_category key_category"]] = {}
        self._losses: Float[Tensor, " batch"] | None = None

    def note_layer(self, layer: SeenLayer) -> None:
        """Observe the gradients of a layer, which come in one block; keep their averages.

        Raises:
            CaptureError: a gradient is not finite.
        """
        record = layer.record
        rows = over_keys(Scores(record).gradient, self._keys)
        sums = self._queries.mT[:, None].to(rows.dtype) @ rows
        if not bool(sums.isfinite().all()):
            raise CaptureError(
                f"{record.site.name}: the gradient of its weights is not finite in "
                f"{str(record.weight.dtype).removeprefix('torch.')}; load the model in float32."
            )
        cells = self._cells(record.visible)[:, None]
        means = (double(sums) / cells.clamp_min(1)).masked_fill(cells == 0, torch.nan)
        self._means[record.site.layer] = means

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each document."""
        self._losses = losses

    def members(self) -> dict[str, Accumulator]:
        """Return averages with documents along the first axis, and what was predicted."""
        predicted, losses = self._predicted, self._losses
        assert losses is not None  # noqa: S101 - the model was run backward
        counted = torch.ones_like(losses, dtype=torch.bool) if predicted is None else predicted > 0
        if predicted is not None and self._reduction == "sum":
            losses = losses / predicted.clamp_min(1)
        predicting = array(counted) > 0
        layers = stacked([self._means[layer] for layer in sorted(self._means)])
        return {
            **means("importance", layers[predicting], self._units[predicting]),
            **means("loss", array(losses[counted]), self._units[predicting]),
            "predicted": _count(torch.zeros_like(counted) if predicted is None else predicted),
            "masked": _count(self._masked),
            "unpredicted": _count(~counted),
        }

    def _cells(self, visible: Bool[Tensor, "batch #query key"] | None) -> Cells:
        """Return the number of pairs of positions for each two categories."""
        keys, queries = double(self._keys), double(self._queries)
        visible_keys = keys.sum(1, keepdim=True) if visible is None else double(visible) @ keys
        if visible_keys.shape[1] == 1:  # all queries see the same
            return queries.sum(1)[:, :, None] * visible_keys
        return queries.mT @ visible_keys


def _members(
    category: Int64[Tensor, "batch position"], masked: Bool[Tensor, "batch position"]
) -> Membership:
    """All unmasked positions, those of each category, and the masked ones."""
    named = membership(category.masked_fill(masked, -1), len(CATEGORIES))
    return torch.cat([named.sum(-1, keepdim=True), named, masked[..., None].float()], dim=-1)


def _count(numbers: Tensor) -> Count:
    count = Count()
    count.update(array(numbers))
    return count


RANKS = ("rank", "dimension", "dimension_with_ones")
BOUNDS = ("bound", "bound_with_ones")
EQUAL = ("equal", "equal_with_ones")
POINT = ("length", "correlation")
"""Numbers of a point, which is a text."""

_TOGETHER: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "comoments": torch.add,
    **dict.fromkeys((*RANKS, *BOUNDS), torch.maximum),
    **dict.fromkeys(EQUAL, torch.minimum),
}
"""Functions that join the numbers of two blocks of queries."""

HEAD = ("length", "layer", "head")
NAMES = dict(
    zip(RANKS, ("rank_by_length", "null_dimension", "null_dimension_with_ones"), strict=True)
)

_OF_BOUND = "what the dimension of the null space of {} cannot be below"
NULL_SPACE_VARIABLES = {
    "rank_by_length": Variable("rank of T"),
    "null_dimension": Variable("dimension of the left null space of T"),
    "null_dimension_min": Variable("smallest dimension of the left null space of T"),
    "null_dimension_max": Variable("largest dimension of the left null space of T"),
    "null_dimension_with_ones": Variable("dimension of the left null space of [T, 1]"),
    "bound": Variable(_OF_BOUND.format("T")),
    "bound_with_ones": Variable(_OF_BOUND.format("[T, 1]")),
    "equal_count": Variable("texts whose null space of T is no larger than its bound"),
    "equal_with_ones_count": Variable("texts whose null space of [T, 1] is no larger"),
    "effective_correlation_whole": Variable(
        "Pearson's r of raw and effective attention, mean over the texts of all lengths",
        interval="correlation",
    ),
    "text_count": Variable("texts"),
    "keys_mean": Variable("keys of a text, mean"),
    "points": Variable("length and correlation of texts, at random"),
    "head_dim": Variable("size of a head"),
}


def null_space(outcome: Outcome) -> Variables:
    """Return ranks of T and null spaces of T and [T, 1] by the length of the text, in bins.

    Means over the texts by layer and head, what they cannot be below, and in how many texts they
    are just that; and the correlation of raw and effective attention of texts, at random.

    Source: Brunner et al. (2020), Eq. 6 and Figure 1a; that a correlation is of one text with all
    layers, heads and cells together is our reading.
    """
    statistics = outcome.found
    if "null_keys" not in statistics:
        return {}
    variables: Variables = {"point_field": list(POINT)}
    for name, variable in NAMES.items():
        variables[variable] = (HEAD, statistics[f"null_{name}"]["mean"])
    for end in ("minimum", "maximum"):
        variables[f"null_dimension_{end[:3]}"] = (HEAD, statistics["null_dimension"][end])
    for name in BOUNDS:
        variables[name] = (HEAD[:2], statistics[f"null_{name}"]["mean"])
    for name in EQUAL:
        variables[f"{name}_count"] = (HEAD, statistics[f"null_{name}"]["total"])
    sums = statistics["slots_correlation"]
    variables |= with_slots("effective_correlation_whole", (), sums["mean"], sums)
    (points,) = statistics["null_points"]["rows"]
    variables["points"] = (("point", "point_field"), points[np.isfinite(points[:, 0])])
    sizes = {site.layer: site.head_dim for site in outcome.plan.sites}
    variables["head_dim"] = ("layer", [sizes[layer] for layer in sorted(sizes)])
    variables["keys_mean"] = (HEAD[:1], statistics["null_keys"]["mean"])
    variables["text_count"] = (HEAD[:1], statistics["null_keys"]["count"])
    return variables


class NullSpaceObserver(PartObserver):
    """Observes the null spaces of one batch; keeps some numbers of each text, layer and head.

    Under a causal mask ranks and null spaces are those of the query that sees most, and a bound
    holds with equality if it does so for every query.

    Args:
        texts: the positions of the batch.
        points: what keeps a sample of points; empty.
    """

    def __init__(self, texts: Texts, points: Sample) -> None:
        self._text_ids = texts.text_ids
        self._points = points
        self._present = texts.queries.float()
        self._key_counts = (texts.keys >= 0).sum(-1)
        self._seen: dict[int, dict[str, Tensor]] = {}

    def note_block(self, scores: Scores) -> None:
        """Observe some queries of a layer, or all."""
        layer, numbers = scores.record.site.layer, self._look(scores)
        if scores.record.first:
            before = self._seen[layer]
            numbers = {name: _TOGETHER[name](before[name], each) for name, each in numbers.items()}
        self._seen[layer] = numbers

    def _look(self, scores: Scores) -> dict[str, Tensor]:
        """The numbers of these queries."""
        first = scores.record.first
        present = self._present[:, first : first + scores.weight.shape[2]]
        visible, lengths = scores.record.visible, self._key_counts
        sums = comoments(scores.weight, scores.effective, visible, present, lengths)
        statistics = {"comoments": sums}
        spaces = scores.null_spaces
        for name in RANKS:
            statistics[name] = double(getattr(spaces, name).amax(-1))
        for name in BOUNDS:
            statistics[name] = double(getattr(spaces, name).amax(-1))
        for dimension, bound, equal in zip(RANKS[1:], BOUNDS, EQUAL, strict=True):
            same = getattr(spaces, dimension) == getattr(spaces, bound)[:, None]
            statistics[equal] = double(same.all(-1))
        return statistics

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by length, and a sample of points."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        rows = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        whole = correlation(np.nansum(rows.pop("comoments"), axis=(1, 2)))
        lengths = array(self._key_counts)
        members: dict[str, Accumulator] = {}
        for name, values in {**rows, "keys": lengths}.items():
            shape = values.shape[1:]
            grouped = Grouped(Count(shape) if name in EQUAL else Moments(shape))
            grouped.update(lengths.astype(np.int64) // LENGTH_BIN * LENGTH_BIN, values)
            members[f"null_{name}"] = grouped
        return members | {"null_points": self._sampled(lengths, whole)}

    def _sampled(
        self, lengths: Float64[np.ndarray, " text"], whole: Float64[np.ndarray, " text"]
    ) -> Sample:
        """Points of texts, each of which is a stream of its own."""
        for stream, length, value in zip(self._text_ids, lengths, whole, strict=True):
            if np.isfinite(value):
                keys, drawn = self._points.draw(stream, 1)
                self._points.keep(keys, np.tile([length, value], (len(drawn), 1)))
        return self._points
