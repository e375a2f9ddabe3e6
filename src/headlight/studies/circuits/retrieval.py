"""Retrieval scores of heads: copies of the tokens of a hidden fact."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from headlight.findings.circuits import FOUND
from headlight.measures import Scores
from headlight.observations.layer_arrays import stacked
from headlight.studies.circuits.greedy_answers import Answer
from headlight.studies.circuits.probe_texts import Hidden

VERSIONS = ("paper", "code")
"""Versions of the score: Wu et al. count distinct copied tokens, their program counts steps."""
OVERLAP = 0.9
"""Share of the distinct tokens of a needle above which their program takes a span for it."""

Span = tuple[int, int]


@dataclass(eq=False, repr=False)
class RetrievalCounter:
    """Counter of copies in all layers, while the model reads a text and its answer."""

    text: Hidden
    answer: Answer
    measures: Sequence[str]
    _top: dict[int, list[Int64[Tensor, "measure head step"]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._steps = range(self.answer.first, self.answer.first + len(self.answer.produced))

    def look(self, scores: Scores) -> None:
        """Keep the key with most attention at each step, among some queries of a layer."""
        record = scores.record
        first, stop = record.first, record.first + record.weight.shape[2]
        rows = [step - first for step in self._steps if first <= step < stop]
        strongest_keys = [scores.of(name)[0, :, rows].argmax(-1) for name in self.measures]
        self._top.setdefault(record.site.layer, []).append(torch.stack(strongest_keys))

    def recall(self) -> float:
        """Return the share of the needle's distinct tokens in the answer."""
        needle = {*self._needle}
        return len(needle & {*self.answer.produced}) / len(needle)

    def scores(self) -> Float64[np.ndarray, "version measure layer head"]:
        """Return `VERSIONS` of the score of each head; NaN if not found, or without such a head."""
        # Layers may have different numbers of heads; the missing ones are NaN.
        layers = [torch.cat(self._top[layer], 2).cpu().double() for layer in sorted(self._top)]
        top = stacked([layer.movedim(1, 0)[None] for layer in layers])[0].transpose(2, 0, 1, 3)
        # Only where the model has given the fact again does a copy mean retrieval.
        if not self.recall() > FOUND:
            return np.full((len(VERSIONS), *top.shape[:3]), np.nan)
        has_key = ~np.isnan(top)
        keys = np.where(has_key, top, 0).astype(np.int64)
        produced = np.array(self.answer.produced)
        same = np.array(self.answer.text.ids)[keys] == produced
        exact = same & _within(keys, (self.text.start, self.text.stop))
        # Distinct types are counted once each, as the paper defines the score.
        types = [exact[..., produced == token].any(-1) for token in {*produced} & {*self._needle}]
        copied = np.sum(types, axis=0) if types else np.zeros(top.shape[:3])
        # The authors' program counts steps instead, on a span that it finds by overlap.
        steps = (same & _within(keys, fuzzy_span(self.text.ids, self._needle))).sum(-1)
        scores = np.stack([copied / len({*self._needle}), steps / len(self._needle)])
        return np.where(has_key.all(-1), scores, np.nan)

    @property
    def _needle(self) -> tuple[int, ...]:
        return self.text.ids[self.text.start : self.text.stop]


def fuzzy_span(ids: Sequence[int], needle: Sequence[int]) -> Span:
    """Return the first span as long as the needle with over `OVERLAP` of its distinct tokens."""
    types = {*needle}
    for start in range(len(ids)):
        if len(types & {*ids[start : start + len(needle)]}) > OVERLAP * len(types):
            return start, start + len(needle)
    return 0, 0  # an empty span, which holds no key


def _within(keys: Int64[np.ndarray, "..."], span: Span) -> Bool[np.ndarray, "..."]:
    inside: Bool[np.ndarray, "..."] = (keys >= span[0]) & (keys < span[1])
    return inside
