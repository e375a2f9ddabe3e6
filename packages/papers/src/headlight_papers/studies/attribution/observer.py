"""Statistics of contributions of input tokens, summed while batches run through the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from headlight.capture import Kind
from headlight.capture.attribution import Attribution
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.token_categories import CLS, SEP
from headlight.engine.observer import Observer
from headlight.observations.layer_arrays import array, moments
from headlight.observations.positions import Positions
from headlight.observations.text_ids import units_of
from headlight.reduce import Accumulator, Grouped, Histogram, Moments, Slots, Tally
from headlight.vocabulary import CATEGORIES
from headlight_papers.studies.attribution import AttributionStudySettings
from headlight_papers.studies.attribution.contribution_sums import (
    Contribution,
    PerToken,
    Sums,
    by_distance,
    by_offset,
    centred,
    is_not_largest,
    own_contribution,
)
from headlight_papers.studies.attribution.tag_groups import piece_codes


def first_of(category: Int64[Tensor, "batch position"], code: int) -> Int64[Tensor, " batch"]:
    """Return the first position of a category in each text; −1 where there is none."""
    matches = category == code
    return matches.int().argmax(-1).where(matches.any(-1), -1)


GROUPS = ("all", *CATEGORIES)
"""Groups of tokens that every text has; those of parts of speech come after them."""

EDGES = tuple(np.linspace(0.0, 1.0, 1001).tolist())
"""Edges of the bins from which quantiles are read: a tenth of a percent each."""

Rows = Float64[np.ndarray, "token layer"]


@dataclass(frozen=True)
class AttributionSpec:
    """Specification of what is observed in every batch.

    Attributes:
        kind: Attention kind observed.
        layers: Numbers of the layers.
        settings: See `AttributionStudySettings`.
        tags: Names of all parts of speech.
    """

    kind: Kind
    layers: tuple[int, ...]
    settings: AttributionStudySettings
    tags: tuple[str, ...] = ()


class AttributionObserver(Observer):
    """Observer of the contributions of one batch."""

    wants_attention = False

    def __init__(self, batch: Batch, examples: Sequence[Encoded], spec: AttributionSpec) -> None:
        self._batch = batch
        self._examples = examples
        self._units = units_of(examples)
        self._spec = spec
        self._category = Positions.for_kind(batch, spec.kind)[0].category
        self._present = self._category >= 0
        self._text = self._present.nonzero()[:, 0].cpu().numpy()
        self._found: dict[str, Accumulator] = {}

    def note_attribution(self, attribution: Attribution) -> None:
        """Sum up the contributions of all layers."""
        layers = list(self._spec.layers)
        contribution = attribution.contribution[layers]
        self._note_own(contribution)
        self._note_neighbours(contribution)
        if attribution.standard_error is not None:
            error = own_contribution(attribution.standard_error[layers])
            self._found["own_error"] = moments(self._tokens(error.double().square()))

    def tally(self) -> Tally:
        """Return the statistics of the batch."""
        return Tally(self._found)

    def _note_own(self, contribution: Contribution) -> None:
        """Add what tokens contribute to themselves: of all, by category, by part of speech."""
        rows = self._tokens(own_contribution(contribution))
        category = self._category[self._present].cpu().numpy()
        # Group 0 is all tokens; categories follow, as in `GROUPS`.
        groups = [(np.zeros_like(category), rows), (1 + category, rows)]
        texts = [self._text, self._text]
        if self._spec.tags:
            *tagged, text = self._tagged(contribution)
            groups.append((tagged[0], tagged[1]))
            texts.append(text)
        mean = Grouped(Moments(rows.shape[1:]))
        spread = Grouped(Histogram(EDGES, rows.shape[1:]))
        for keys, values in groups:
            mean.update(keys, values)
            # Estimates scatter beyond 0 and 1, where the histogram has no bins.
            spread.update(keys, values.clip(0.0, 1.0))
        self._found |= {"own": mean, "own_spread": spread}
        groups_and_tags = len(GROUPS) + len(self._spec.tags)
        keys, values = (np.concatenate(parts) for parts in zip(*groups, strict=True))
        self._found["own_of_texts"] = self._sum_texts(
            values, np.concatenate(texts), keys, groups_and_tags
        )
        others = self._tokens(is_not_largest(contribution))
        self._found["not_largest"] = moments(others)
        self._found["not_largest_of_texts"] = self._sum_texts(others, self._text)

    def _sum_texts(
        self,
        values: Float64[np.ndarray, "token *cell"],
        text: Int64[np.ndarray, " token"],
        group: Int64[np.ndarray, " token"] | None = None,
        groups: int = 1,
    ) -> Slots:
        """Sum over the tokens of each text, by group, and count them; NaN is no token."""
        place = text * groups + (0 if group is None else group)
        shape = (len(self._present) * groups, *values.shape[1:])
        sums, counts = np.zeros(shape), np.zeros(shape)
        # Several tokens of a text add to one cell, which `+=` with an index array would not do.
        np.add.at(sums, place, np.nan_to_num(values))
        np.add.at(counts, place, np.isfinite(values))
        cells = (groups, *shape[1:]) if group is not None else shape[1:]
        return Slots.of(
            self._units,
            *(values_of_tokens.reshape(-1, *cells) for values_of_tokens in (sums, counts)),
        )

    def _tagged(
        self, contribution: Contribution
    ) -> tuple[Int64[np.ndarray, " token"], Rows, Int64[np.ndarray, " token"]]:
        """Return groups, own contributions and texts of pieces that have a part of speech."""
        settings, word = self._spec.settings, self._batch.word
        assert settings.tags is not None  # noqa: S101 - there are names of tags
        codes = piece_codes(self._examples, settings.tags, self._spec.tags, word)
        tagged_mask = codes >= 0
        rows, text = (
            selected_rows(own_contribution(contribution), tagged_mask),
            tagged_mask.nonzero()[:, 0],
        )
        return len(GROUPS) + codes[tagged_mask].cpu().numpy(), rows, text.cpu().numpy()

    def _note_neighbours(self, contribution: Contribution) -> None:
        """Add contributions of other tokens: by distance, by offset, and to the class token."""
        present, reach = self._present, self._spec.settings.reach
        near = self._tokens(by_distance(contribution, present))
        self._found["distance"] = moments(near)
        self._found["distance_of_texts"] = self._sum_texts(near, self._text)
        self._found["offset"] = _summed(by_offset(contribution, present, reach))
        # One-element slices keep the axis of texts, which the sums need.
        rows = [slice(at, at + 1) for at in range(len(present))]
        self._found["offset_of_texts"] = self._pairs(
            [by_offset(contribution[:, row], present[row], reach) for row in rows]
        )
        classes, separators = (first_of(self._category, code) for code in (CLS, SEP))
        text = torch.arange(len(classes), device=classes.device)
        # Texts without the token read row 0 here, and are masked in the loop.
        received = contribution[:, text, classes.clamp_min(0)]
        others = present & (torch.arange(present.shape[1], device=text.device) != classes[:, None])
        for name, centre in (("cls", classes), ("sep", separators)):
            pair_mask = others & (classes >= 0)[:, None]
            self._found[name] = _summed(centred(received, pair_mask, centre, reach))
            self._found[f"{name}_of_texts"] = self._pairs(
                [centred(received[:, row], pair_mask[row], centre[row], reach) for row in rows]
            )

    def _pairs(self, texts: Sequence[Sums]) -> Slots:
        totals = np.stack([sums.total for sums in texts])
        return Slots.of(self._units, totals, np.stack([sums.count for sums in texts])[:, None])

    def _tokens(self, values: Tensor) -> np.ndarray:
        return selected_rows(values, self._present)


def selected_rows(values: PerToken | Tensor, mask: Tensor) -> np.ndarray:
    """Return tokens, or pairs of them, along the first axis, layers along the second."""
    return array(values.movedim(0, mask.ndim)[mask])


def _summed(sums: Sums) -> Moments:
    """Return moments of sums; extremes are not kept."""
    count = np.broadcast_to(sums.count, sums.total.shape)
    mean = sums.total / np.maximum(count, 1)
    deviations = np.maximum(sums.squares - count * mean**2, 0.0)
    summary = Moments(sums.total.shape)
    nowhere = np.full(mean.shape, np.nan)
    summary.absorb(count, mean, deviations, nowhere, nowhere)
    return summary
