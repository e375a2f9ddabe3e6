"""Observers that link the words of a batch of translations, and count correct links."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.analysis.batch_texts import units_of
from headlight.analysis.positions import array, moments, stacked
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.hidden_states import all_hidden_states
from headlight.encode import EncodedTranslation
from headlight.encode.batch import Batch
from headlight.links import COUNTS, Gold
from headlight.measures import Scores
from headlight.reduce import Slots, Tally
from headlight.studies.alignment import AlignmentSettings
from headlight.word_alignment.encoders import pairs_of
from headlight.word_alignment.inputs import input_matrix
from headlight.word_alignment.settings import STEPS
from headlight.word_alignment.similarity import extracted
from headlight.word_alignment.soft import (
    LinkMatrix,
    Sides,
    attention_links,
    input_links,
    mean_of_places,
    places,
)

Counts = Int64[np.ndarray, "example *cell count"]


class GoldOfBatch:
    """The gold links of a batch as matrices."""

    def __init__(
        self,
        examples: Sequence[EncodedTranslation],
        gold: Sequence[Gold],
        device: torch.device | str,
    ) -> None:
        self._own = [gold[example.index] for example in examples]
        self._units = units_of(examples)
        targets = max(len(example.target_text) for example in examples)
        sources = max(len(example.source_text) for example in examples)
        shape = (len(examples), 1, targets, sources)
        self._sure = torch.zeros(shape, dtype=torch.bool)
        self._possible = torch.zeros(shape, dtype=torch.bool)
        for row, own in enumerate(self._own):
            for matrix, links in ((self._sure, own.sure), (self._possible, own.possible)):
                for source, target in links:
                    matrix[row, 0, target, source] = True
        self._sure, self._possible = self._sure.to(device), self._possible.to(device)

    def counts(self, links: LinkMatrix) -> Counts:
        """The counts of `headlight.links.COUNTS`, of every example and row of links."""
        targets, sources = links.shape[2:]
        sure = self._sure[:, :, :targets, :sources]
        possible = self._possible[:, :, :targets, :sources]
        made = np.empty((*links.shape[:2], len(COUNTS)), dtype=np.int64)
        made[..., 0] = [[len(own.sure)] for own in self._own]
        made[..., 1] = [[len(own.possible)] for own in self._own]
        for at, found in enumerate((links, links & sure, links & possible), 2):
            made[..., at] = found.sum((-2, -1)).cpu().numpy()
        made[..., 5] = 1
        return made

    def summed(self, rows: Counts) -> Slots:
        """The sums of such counts over pairs, by blocks of the corpus."""
        cells = (len(rows), *(1,) * (rows.ndim - 1))
        return Slots.of(self._units, rows, np.ones(cells))


@dataclass(eq=False, repr=False)
class AttentionAlignmentObserver:
    """Sees the cross-attention of a batch; keeps counts of links for each sentence."""

    batch: Batch
    gold: GoldOfBatch
    sites: Sequence[AttentionSite]
    settings: AlignmentSettings
    _counts: dict[tuple[str, str, int], Counts] = field(default_factory=dict, init=False)
    _norms: dict[int, Float[Tensor, "batch head"]] = field(default_factory=dict, init=False)
    _merged: dict[int, Float[Tensor, "batch 1"]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._sides = Sides.of(self.batch)
        self._heads = max(site.heads for site in self.sites)
        self._there = places(self.batch)

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; nothing of it is kept but counts and means."""
        scores, layer = Scores(record, precision=torch.float32), record.site.layer
        for measure in self.settings.of_attention:
            for step in STEPS:
                found = [
                    attention_links(
                        scores, measure, self._sides, step, self.settings, by_head=by_head
                    )
                    for by_head in (False, True)
                ]
                self._counts[measure, step, layer] = self.gold.counts(torch.cat(found, 1))
        self._norms[layer] = mean_of_places(scores.norm, self._there)
        self._merged[layer] = mean_of_places(scores.merged_norm[:, None], self._there)

    def tally(self) -> Tally:
        """Counts of the batch, sentences along the first axis, and the mean norms of heads."""
        layers = [site.layer for site in self.sites]
        return Tally(
            {
                "counts": self.gold.summed(self._all_counts()),
                "norm": moments(stacked([self._norms[layer] for layer in layers])),
                "merged_norm": moments(array(torch.cat([self._merged[n] for n in layers], 1))),
            }
        )

    def _all_counts(self) -> Int64[np.ndarray, "example measure step layer unit count"]:
        """First what a layer finds, then each of its heads; those it lacks find nothing."""
        measures = self.settings.of_attention
        axes = (len(measures), len(STEPS), len(self.sites), 1 + self._heads, len(COUNTS))
        made = np.zeros((len(self.batch.lengths), *axes), dtype=np.int64)
        for row, measure in enumerate(measures):
            for column, step in enumerate(STEPS):
                for place, site in enumerate(self.sites):
                    found = self._counts[measure, step, site.layer]
                    made[:, row, column, place, : found.shape[1]] = found
        return made


@dataclass(eq=False, repr=False)
class InputAlignmentObserver:
    """Runs the model on a batch for gradients and differences; keeps counts of links."""

    model: CapturedModel
    batch: Batch
    gold: GoldOfBatch
    settings: AlignmentSettings

    def tally(self) -> Tally:
        """Counts of the batch by measure, sentences along the first axis."""
        settings, sides = self.settings, Sides.of(self.batch)
        found = []
        for measure in settings.of_input:
            matrix = input_matrix(self.model, self.batch, measure, settings.inputs)
            links, _ = input_links(matrix, sides, settings)
            found.append(self.gold.counts(links)[:, 0])
        return Tally({"counts": self.gold.summed(np.stack(found, 1))})


@dataclass(eq=False, repr=False)
class SimilarityAlignmentObserver:
    """Runs an encoder on the sentences of a batch; keeps counts of links for each pair.

    Attributes:
        encoder: The model.
        batch: Sources and targets.
        gold: Their gold links.
        layers: After how many layers hidden states are compared.
        settings: What is asked.
    """

    encoder: CapturedModel
    batch: Batch
    gold: GoldOfBatch
    layers: Sequence[int]
    settings: AlignmentSettings

    def tally(self) -> Tally:
        """Counts by extraction and layer, pairs along the first axis."""
        settings, batch = self.settings, self.batch
        sources = all_hidden_states(self.encoder, batch.source_alone())
        targets = all_hidden_states(self.encoder, batch.target_alone())
        found = []
        for layer in self.layers:
            pairs = pairs_of(sources[layer], targets[layer], batch, settings.unit)
            counts = []
            for extraction in settings.extractions:
                links, _ = extracted(pairs, extraction, settings.similarity)
                counts.append(self.gold.counts(pairs.links_of_words(links)[:, None])[:, 0])
            found.append(np.stack(counts, 1))
        return Tally({"counts": self.gold.summed(np.stack(found, 2))})
