"""How much of attention is identifiable, on a corpus (Brunner et al. 2020, Sections 3.2 to 3.5)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64, Int64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.plan import StudyPlan
from headlight.analysis.positions import LENGTH_BIN, array, stacked
from headlight.analysis.text_study import TextStudy
from headlight.analysis.variables import described, of_mean
from headlight.capture import LayerRecord
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.measures.effective_correlation import comoments, correlation
from headlight.measures.vectors import Vectors
from headlight.reduce import Accumulator, Count, Grouped, Moments, Sample, Tally
from headlight.result import Description
from headlight.studies.identifiability import IdentifiabilitySettings
from headlight.vocabulary import ValueBias

RANKS = ("rank", "rank_with_ones", "dimension", "dimension_with_ones")
BOUNDS = ("bound", "bound_with_ones")
EQUAL = ("equal", "equal_with_ones")
POINT = ("length", "correlation", "layer", "head")
"""Numbers of a point; the last two are NaN where a point is a whole text."""

_TOGETHER: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "comoments": torch.add,
    **dict.fromkeys((*RANKS, *BOUNDS), torch.maximum),
    **dict.fromkeys(EQUAL, torch.minimum),
}
"""How the numbers of two blocks of queries become one."""

HEAD = ("length", "layer", "head")
NAMES = dict(
    zip(
        RANKS, ("rank", "rank_with_ones", "null_dimension", "null_dimension_with_ones"), strict=True
    )
)


def _described() -> dict[str, Description]:
    """Long name and unit of every variable."""
    words = {
        "rank": "rank of T",
        "rank_with_ones": "rank of [T, 1]",
        "null_dimension": "dimension of the left null space of T",
        "null_dimension_with_ones": "dimension of the left null space of [T, 1]",
        "bound": "what the dimension of the null space of T cannot be below",
        "bound_with_ones": "what the dimension of the null space of [T, 1] cannot be below",
        "effective_correlation": "Pearson's r of raw and effective attention",
        "effective_correlation_by_head": "Pearson's r of raw and effective attention",
        "keys": "keys of a text",
    }
    suffixes = {
        "": "",
        "_mean": ", mean",
        "_std": ", standard deviation",
        "_min": ", smallest",
        "_max": ", largest",
        "_count": ", texts",
        "_low": ", lower end of the 95% interval of the mean",
        "_high": ", upper end of the 95% interval of the mean",
        "_whole": ", mean over the texts of all lengths",
        "_whole_low": ", lower end of the 95% interval of that",
        "_whole_high": ", upper end of the 95% interval of that",
    }
    found: dict[str, Description] = {
        name + suffix: (
            text + more,
            "1",
            "correlation" if name.startswith("effective") and suffix != "_std" else "positive",
        )
        for name, text in words.items()
        for suffix, more in suffixes.items()
    }
    return found | {
        "equal_count": ("texts whose null space of T is no larger than its bound", "1"),
        "equal_with_ones_count": ("texts whose null space of [T, 1] is no larger", "1"),
        "text_count": ("texts", "1"),
        "points": ("length and correlation of texts, at random", "1"),
        "head_dim": ("size of a head", "1"),
    }


VARIABLES = _described()


class IdentifiabilityStudy(TextStudy[IdentifiabilitySettings]):
    """Ranks of T and [T, 1], their null spaces, and how effective attention follows raw attention.

    By the length of the text, in bins, and by layer and head.

    Its result has, over ``length`` (the shortest of its bin), ``layer`` and ``head``: ``rank``,
    ``rank_with_ones``, ``null_dimension`` and ``null_dimension_with_ones`` (means over the texts,
    and ``_min`` and ``_max``), the means of what they cannot be below, ``bound`` and
    ``bound_with_ones``, and in how many texts they are just that, ``equal_count`` and
    ``equal_with_ones_count``; ``text_count`` and ``keys_mean`` by length; the correlation of raw
    and effective attention, and ``points`` of it, at random.

    Source: Brunner et al. (2020), Eq. 6 and Figure 1a; that a correlation is of one text with all
    layers, heads and cells together is our reading.
    """

    name = "identifiability"
    title = "Identifiability of attention"
    settings_class = IdentifiabilitySettings

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "IdentifiabilityObserver":
        """Keeps some numbers of each text, layer and head."""
        return IdentifiabilityObserver(
            Texts.of(batch, examples, plan.kind),
            self.settings.value_bias,
            Sample(self.settings.sample, len(POINT), seed=self.settings.seed),
            per_head=self.settings.per_head,
        )

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by length, and the size of the heads of each layer."""
        sizes = {site.layer: site.head_dim for site in plan.sites}
        found = tally.compute()
        variables: dict[str, Any] = {}
        for name, called in NAMES.items():
            statistics = found[name]
            variables |= of_mean(called, HEAD, statistics)
            variables[f"{called}_min"] = (HEAD, statistics["minimum"])
            variables[f"{called}_max"] = (HEAD, statistics["maximum"])
        for name in BOUNDS:
            variables |= of_mean(name, HEAD[:2], found[name])
        for name in EQUAL:
            variables[f"{name}_count"] = (HEAD, found[name]["total"])
        for name, dims in {"correlation": HEAD[:1], "correlation_by_head": HEAD}.items():
            variables |= of_mean(f"effective_{name}", dims, found[name])
            variables |= of_mean(f"effective_{name}_whole", dims[1:], _of_all(found[name]))
            for kind in ("std", "minimum", "maximum", "count"):
                suffix = f"_{kind[:3] if 'imum' in kind else kind}"
                variables[f"effective_{name}{suffix}"] = (dims, found[name][kind])
        (points,) = found["points"]["rows"]
        variables["points"] = (("point", "field"), points[np.isfinite(points[:, 0])])
        variables["head_dim"] = ("layer", [sizes[layer] for layer in sorted(sizes)])
        variables["keys_mean"] = (HEAD[:1], found["keys"]["mean"])
        variables["text_count"] = (HEAD[:1], found["keys"]["count"])
        coordinates = {
            "length": found["keys"]["key"],
            "layer": sorted(sizes),
            "head": list(range(found["rank"]["mean"].shape[2])),
            "field": list(POINT),
        }
        return described(variables, coordinates, VARIABLES)


run = IdentifiabilityStudy.run


def _of_all(by_length: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Count, mean and standard deviation of the texts of all lengths together."""
    count, mean, std = (by_length[name] for name in ("count", "mean", "std"))
    texts = count.sum(0)
    there = np.where(texts > 0, texts, np.nan)
    whole = np.nansum(count * mean, 0) / there
    squares = np.nansum(count * std**2, 0) + np.nansum(count * (mean - whole) ** 2, 0)
    found = {"count": texts, "mean": whole, "std": np.sqrt(squares / there)}
    return {name: np.asarray(value) for name, value in found.items()}  # of one head a number


@dataclass(eq=False, repr=False)
class IdentifiabilityObserver:
    """Sees the attention of one batch; keeps some numbers of each text, layer and head.

    Under a causal mask ranks and null spaces are those of the query that sees most, and a bound
    holds with equality if it does so for every query.  Layers may come in blocks of queries.

    Attributes:
        texts: the positions of the batch.
        value_bias: whether T has the value bias in it.
        points: what keeps a sample of points; empty.
        per_head: whether a point is a head of a text instead of a text.
    """

    texts: Texts
    value_bias: ValueBias
    points: Sample
    per_head: bool
    _seen: dict[int, dict[str, Tensor]] = field(default_factory=dict, init=False)
    _vectors: Vectors | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._present = self.texts.queries.float()
        self._key_counts = (self.texts.keys >= 0).sum(-1)

    def visit(self, record: LayerRecord) -> None:
        """Look at some queries of a layer, or at all."""
        first, layer = record.first, record.site.layer
        vectors = self._vectors if first else None
        scores = Scores(record, self.value_bias, torch.float32, vectors)
        self._vectors = None if record.ends else scores.vectors
        found = self._look(scores)
        if first:
            before = self._seen[layer]
            found = {name: _TOGETHER[name](before[name], each) for name, each in found.items()}
        self._seen[layer] = found

    def _look(self, scores: Scores) -> dict[str, Tensor]:
        """The numbers of these queries."""
        first = scores.record.first
        present = self._present[:, first : first + scores.weight.shape[2]]
        found = {"comoments": comoments(scores, present, self._key_counts)}
        spaces = scores.null_spaces
        for name in RANKS:
            found[name] = getattr(spaces, name).amax(-1).double()
        for name in BOUNDS:
            found[name] = getattr(spaces, name).amax(-1).double()
        for dimension, bound, equal in zip(RANKS[2:], BOUNDS, EQUAL, strict=True):
            same = getattr(spaces, dimension) == getattr(spaces, bound)[:, None]
            found[equal] = same.all(-1).double()
        return found

    def tally(self) -> Tally:
        """The statistics of the batch, by length, and a sample of points."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        rows = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        sums = rows.pop("comoments")
        lengths = array(self._key_counts)
        by_head, whole = correlation(sums), correlation(np.nansum(sums, axis=(1, 2)))
        rows |= {"correlation_by_head": by_head, "correlation": whole, "keys": lengths}
        found: dict[str, Accumulator] = {
            name: self._by_length(lengths, values, exact=name in EQUAL)
            for name, values in rows.items()
        }
        return Tally(found | {"points": self._sampled(lengths, by_head, whole)})

    def _by_length(
        self, lengths: Float64[np.ndarray, " text"], rows: np.ndarray, *, exact: bool
    ) -> Grouped:
        made = Count(rows.shape[1:]) if exact else Moments(rows.shape[1:])
        grouped = Grouped(made)
        grouped.update(lengths.astype(np.int64) // LENGTH_BIN * LENGTH_BIN, rows)
        return grouped

    def _sampled(
        self,
        lengths: Float64[np.ndarray, " text"],
        by_head: Float64[np.ndarray, "text layer head"],
        whole: Float64[np.ndarray, " text"],
    ) -> Sample:
        """Points of texts, each of which is a stream of its own."""
        values = by_head.reshape(len(whole), -1) if self.per_head else whole[:, None]
        defined = np.isfinite(values)
        for text, stream in enumerate(self.texts.text_ids):
            places = np.flatnonzero(defined[text])
            if not len(places):
                continue
            keys, drawn = self.points.draw(stream, len(places))
            self.points.keep(keys, self._rows(lengths, values, text, places[drawn]))
        return self.points

    def _rows(
        self,
        lengths: Float64[np.ndarray, " text"],
        values: Float64[np.ndarray, "text place"],
        text: int,
        places: Int64[np.ndarray, " drawn"],
    ) -> Float64[np.ndarray, "drawn field"]:
        rows = np.full((len(places), len(POINT)), np.nan)
        rows[:, 0], rows[:, 1] = lengths[text], values[text, places]
        if self.per_head:
            heads = values.shape[1] // len(self._seen)
            rows[:, 2] = np.array(sorted(self._seen))[places // heads]
            rows[:, 3] = places % heads
        return rows
