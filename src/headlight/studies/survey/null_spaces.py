"""Null spaces of the transformed values, by the length of the text."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.engine.batch_runner import LENGTH_BIN
from headlight.measures import Scores
from headlight.measures.effective_correlation import comoments, correlation
from headlight.observations.layer_arrays import array, stacked
from headlight.observations.positions import Texts
from headlight.observations.variables import Variable, with_slots
from headlight.reduce import Accumulator, Count, Grouped, Moments, Sample
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock
from headlight.tensors import double

RANKS = ("rank", "dimension", "dimension_with_ones")
BOUNDS = ("bound", "bound_with_ones")
EQUAL = ("equal", "equal_with_ones")
POINT = ("length", "correlation")
"""Coordinates of a point, which is a text."""

_TOGETHER: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "comoments": torch.add,
    **dict.fromkeys((*RANKS, *BOUNDS), torch.maximum),
    **dict.fromkeys(EQUAL, torch.minimum),
}
"""Functions that join the statistics of two blocks of queries."""

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

    These are means over texts by layer and head, lower bounds, and the number of texts where a
    bound holds with equality; also the correlation of raw and effective attention in sampled texts.

    Source: Brunner et al. (2020), Eq. 6 and Figure 1a; that a correlation is over all layers,
    heads and cells of one text is our reading.
    """
    statistics = outcome.statistics
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
    """Observer of the null spaces of one batch, by text, layer and head.

    Under a causal mask ranks and null spaces are those of the query that sees most, and a bound
    holds with equality if it does so for every query.

    Args:
        texts: Texts of the batch, with their positions.
        points: Empty sample, to be filled with points.
    """

    on_device = ("_seen", "_key_counts")
    wants_cells = True

    def __init__(self, texts: Texts, points: Sample) -> None:
        self._text_ids = texts.text_ids
        self._points = points
        self._present = texts.queries.float()
        self._key_counts = (texts.keys >= 0).sum(-1)
        self._seen: dict[int, dict[str, Tensor]] = {}

    def note_block(self, block: SeenBlock) -> None:
        """Observe a block of queries of a layer."""
        layer, numbers = block.record.site.layer, self._look(block.scores)
        if block.record.first:
            before = self._seen[layer]
            numbers = {
                name: _TOGETHER[name](before[name], later) for name, later in numbers.items()
            }
        self._seen[layer] = numbers

    def _look(self, scores: Scores) -> dict[str, Tensor]:
        """Return the statistics of these queries."""
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
        """Return the sampled points of texts, each of which is a stream of its own."""
        for stream, length, value in zip(self._text_ids, lengths, whole, strict=True):
            if np.isfinite(value):
                keys, drawn = self._points.draw(stream, 1)
                self._points.keep(keys, np.tile([length, value], (len(drawn), 1)))
        return self._points


def observe(subject: Subject) -> PartObserver:
    """Return the observer of null spaces, with an empty sample."""
    settings = subject.settings
    points = Sample(settings.sample, len(POINT), seed=settings.seed)
    return NullSpaceObserver(Texts.of(*subject.texts), points)
