"""Observers of the alignment between words, and between words and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.hidden_states import all_hidden_states
from headlight.encode import EncodedSpeech
from headlight.encode.batch import NO_WORD, Batch
from headlight.engine.observer import Observer
from headlight.measures import Scores
from headlight.observations.layer_arrays import array, moments, stacked
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable, described, long_names, slots_at, with_slots
from headlight.reduce import Slots, Tally
from headlight.vocabulary import head_name, measure as described_measure
from headlight_words.encode.translations import EncodedTranslation
from headlight_words.links import COUNTS, Gold
from headlight_words.studies.alignment import AlignmentSettings
from headlight_words.word_alignment import STEPS
from headlight_words.word_alignment.aligner import (
    LinkMatrix,
    Sides,
    attention_links,
    input_links,
    mean_of_places,
    places,
)
from headlight_words.word_alignment.directions import pairs_of
from headlight_words.word_alignment.hidden_state_similarity import extracted
from headlight_words.word_alignment.inputs import input_matrix
from headlight_words.word_alignment.output import (
    Maps,
    on_path,
    row_starts,
    standardised,
    word_stretches,
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
        for row, links_of_pair in enumerate(self._own):
            for matrix, links in (
                (self._sure, links_of_pair.sure),
                (self._possible, links_of_pair.possible),
            ):
                for source, target in links:
                    matrix[row, 0, target, source] = True
        self._sure, self._possible = self._sure.to(device), self._possible.to(device)

    def counts(self, links: LinkMatrix) -> Counts:
        """Return `headlight_words.links.COUNTS` of every example and row of links."""
        targets, sources = links.shape[2:]
        sure = self._sure[:, :, :targets, :sources]
        possible = self._possible[:, :, :targets, :sources]
        counts = np.empty((*links.shape[:2], len(COUNTS)), dtype=np.int64)
        counts[..., 0] = [[len(gold.sure)] for gold in self._own]
        counts[..., 1] = [[len(gold.possible)] for gold in self._own]
        for at, linked in enumerate((links, links & sure, links & possible), 2):
            counts[..., at] = linked.sum((-2, -1)).cpu().numpy()
        counts[..., 5] = 1
        return counts

    def summed(self, rows: Counts) -> Slots:
        """Return the sums of such counts over pairs, by blocks of the corpus."""
        cells = (len(rows), *(1,) * (rows.ndim - 1))
        return Slots.of(self._units, rows, np.ones(cells))


@dataclass(eq=False, repr=False)
class AttentionAlignmentObserver(Observer):
    """Observer of the cross-attention of a batch, which keeps counts of links by sentence."""

    batch: Batch
    gold: GoldOfBatch
    sites: Sequence[AttentionSite]
    settings: AlignmentSettings
    _counts: dict[tuple[str, str, int], Counts] = field(default_factory=dict, init=False)
    _norms: dict[int, Float[Tensor, "batch head"]] = field(default_factory=dict, init=False)
    _merged: dict[int, Float[Tensor, "batch 1"]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._sides = Sides.from_batch(self.batch)
        self._heads = max(site.heads for site in self.sites)
        self._there = places(self.batch)

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer, of which only counts and means are kept."""
        scores, layer = Scores(record, precision=torch.float32), record.site.layer
        for measure in self.settings.of_attention:
            for step in STEPS:
                links = [
                    # Layers as a whole come first and heads after them, along one axis.
                    attention_links(
                        scores, measure, self._sides, step, self.settings, by_head=by_head
                    )
                    for by_head in (False, True)
                ]
                self._counts[measure, step, layer] = self.gold.counts(torch.cat(links, 1))
        self._norms[layer] = mean_of_places(scores.norm, self._there)
        self._merged[layer] = mean_of_places(scores.merged_norm[:, None], self._there)

    def tally(self) -> Tally:
        """Return counts of the batch by blocks of the corpus, and the mean norms of heads."""
        layers = [site.layer for site in self.sites]
        return Tally(
            {
                "counts": self.gold.summed(self._count_layers()),
                "norm": moments(stacked([self._norms[layer] for layer in layers])),
                "merged_norm": moments(array(torch.cat([self._merged[n] for n in layers], 1))),
            }
        )

    def _count_layers(self) -> Int64[np.ndarray, "example measure step layer unit count"]:
        """Return the counts of whole layers, then of heads; heads that a layer lacks have 0."""
        measures = self.settings.of_attention
        axes = (len(measures), len(STEPS), len(self.sites), 1 + self._heads, len(COUNTS))
        counts = np.zeros((len(self.batch.lengths), *axes), dtype=np.int64)
        for row, measure in enumerate(measures):
            for column, step in enumerate(STEPS):
                for place, site in enumerate(self.sites):
                    layer_counts = self._counts[measure, step, site.layer]
                    counts[:, row, column, place, : layer_counts.shape[1]] = layer_counts
        return counts


@dataclass(eq=False, repr=False)
class InputAlignmentObserver(Observer):
    """Observer of gradients and differences of a batch, which keeps counts of links."""

    wants_attention = False

    model: CapturedModel
    batch: Batch
    gold: GoldOfBatch
    settings: AlignmentSettings

    def tally(self) -> Tally:
        """Return counts of the batch by measure, by blocks of the corpus."""
        settings, sides = self.settings, Sides.from_batch(self.batch)
        counts = []
        for measure in settings.of_input:
            matrix = input_matrix(self.model, self.batch, measure, settings.inputs)
            links, _ = input_links(matrix, sides, settings)
            # Measures of the input have neither step nor head.
            counts.append(self.gold.counts(links)[:, 0])
        return Tally({"counts": self.gold.summed(np.stack(counts, 1))})


@dataclass(eq=False, repr=False)
class SimilarityAlignmentObserver(Observer):
    """Observer of an encoder's hidden states of a batch, which keeps counts of links by pair.

    Attributes:
        encoder: Encoder that reads each sentence.
        batch: Batch of sources and targets.
        gold: Gold links of the batch.
        layers: Numbers of layers run after which hidden states are compared.
        settings: Settings of the study.
    """

    wants_attention = False

    encoder: CapturedModel
    batch: Batch
    gold: GoldOfBatch
    layers: Sequence[int]
    settings: AlignmentSettings

    def tally(self) -> Tally:
        """Return counts by extraction and layer, by blocks of the corpus."""
        settings, batch = self.settings, self.batch
        sources = all_hidden_states(self.encoder, batch.source_alone())
        targets = all_hidden_states(self.encoder, batch.target_alone())
        links_found = []
        for layer in self.layers:
            pairs = pairs_of(sources[layer], targets[layer], batch, settings.unit)
            counts = []
            for extraction in settings.extractions:
                links, _ = extracted(pairs, extraction, settings.similarity)
                counts.append(self.gold.counts(pairs.links_of_words(links)[:, None])[:, 0])
            links_found.append(np.stack(counts, 1))
        return Tally({"counts": self.gold.summed(np.stack(links_found, 2))})


AROUND = 0.1
"""Seconds around a stretch that count as part of it, for `on_path`."""

OF_WORDS = {
    "start_error": Variable("mean distance of the beginnings of words", "s", interval="positive"),
    "end_error": Variable("mean distance of the ends of words", "s", interval="positive"),
    "inside": Variable(
        "share of the words whose middle is found between their beginning and end", interval="share"
    ),
    "on_path": Variable(
        "share of what pieces give to sound that goes to their stretch of the path",
        interval="share",
    ),
}
"""The variables of each way to link words to time; all but the last only where times are known."""

BY = {
    "": ", of all heads of a layer together",
    "head_": ", of a head",
    "chosen_": ", of the chosen heads together",
}
VARIABLES = long_names(OF_WORDS, BY)


@dataclass(eq=False, repr=False)
class SpeechAlignmentObserver(Observer):
    """Observer of the cross-attention of a batch, which keeps each word's distance from its time.

    Attributes:
        examples: Examples of the batch.
        sites: Layers that are observed.
        chosen: Layer and head of each of the combined heads.
        settings: Settings of the study.
    """

    examples: Sequence[EncodedSpeech]
    sites: Sequence[AttentionSite]
    chosen: Sequence[tuple[int, int]]
    settings: AlignmentSettings
    _found: dict[tuple[int, str, str, int], Float64[np.ndarray, "unit word number"]] = field(
        default_factory=dict, init=False
    )
    _kept: dict[tuple[int, str, int, int], Maps] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._heads = max(site.heads for site in self.sites)

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer, and keep the maps of its chosen heads."""
        scores, layer = Scores(record, precision=torch.float32), record.site.layer
        for measure in self.settings.of_attention:
            score = scores.of(measure).cpu().double().numpy()
            for row, example in enumerate(self.examples):
                # Recordings may be padded, and only frames that are heard can be linked.
                maps = score[row, :, :, : example.heard]
                for step in STEPS:
                    self._found[row, measure, step, layer] = judge_maps(
                        maps, example, step, measure
                    )
                for head in (head for at, head in self.chosen if at == layer):
                    self._kept[row, measure, layer, head] = maps[head, None].copy()

    def tally(self) -> Tally:
        """Return the numbers of words by measure, step, layer and head, then of chosen heads."""
        rows, chosen = [], []
        for row, example in enumerate(self.examples):
            rows.append(self._measure_layers(row, len(example.target_text)))
            if self.chosen:
                chosen.append(self._measure_chosen(row, example))
        units = np.repeat(units_of(self.examples), [len(words) for words in rows])
        members = {"words": Slots.of(units, np.concatenate(rows))}
        if chosen:
            members["chosen"] = Slots.of(units, np.concatenate(chosen))
        return Tally(dict(members))

    def _measure_layers(
        self, row: int, words: int
    ) -> Float64[np.ndarray, "word measure step layer unit number"]:
        """Return the numbers of whole layers, then of heads; NaN for heads that a layer lacks."""
        measures = self.settings.of_attention
        axes = (len(measures), len(STEPS), len(self.sites), 1 + self._heads, len(OF_WORDS))
        errors = np.full((words, *axes), np.nan)
        for at, measure in enumerate(measures):
            for column, step in enumerate(STEPS):
                for place, site in enumerate(self.sites):
                    numbers = self._found[row, measure, step, site.layer]
                    errors[:, at, column, place, : len(numbers)] = numbers.swapaxes(0, 1)
        return errors

    def _measure_chosen(
        self, row: int, example: EncodedSpeech
    ) -> Float64[np.ndarray, "word measure step number"]:
        by_step = []
        for measure in self.settings.of_attention:
            # Heads are combined as maps, before a path is sought, not as times afterwards.
            maps = np.concatenate([self._kept[row, measure, *place] for place in self.chosen])
            by_step.append([judge_maps(maps, example, step, measure)[0] for step in STEPS])
        return np.moveaxis(np.array(by_step), 2, 0)


def judge_maps(
    maps: Maps, example: EncodedSpeech, step: str, measure: str
) -> Float64[np.ndarray, "unit word number"]:
    """Return the numbers `OF_WORDS` by all maps together, then by each; NaN if unknown.

    Args:
        maps: Maps of heads, between all places of the decoder and the frames that are heard.
        example: Recording and its transcript.
        step: Row that stands for a piece: where it is read (``input``) or predicted (``output``).
        measure: Measure of the maps.
    """
    rows, words = _rows(example, step)
    maps, frames = maps[:, rows], example.heard
    if described_measure(measure).signed:
        # Times follow sizes: a negative effect of a frame is an effect.
        maps = np.abs(maps)
    whole = maps.sum(2, keepdims=True)
    maps = np.divide(maps, whole, out=np.zeros_like(maps), where=whole > 0)
    scaled = standardised(maps)
    scaled = np.concatenate([scaled.mean(0, keepdims=True), scaled])
    starts = row_starts(scaled)
    stretches = word_stretches(starts, words, len(example.target_text), frames)
    shares = on_path(
        np.concatenate([maps.mean(0, keepdims=True), maps]), starts, round(AROUND / example.frame)
    )
    numbers = np.full((*stretches.shape[:2], len(OF_WORDS)), np.nan)
    numbers[..., -1] = _average_pieces(shares, words, numbers.shape[1])
    if example.times is not None:
        begins, ends = np.transpose(example.times)
        begin, end = np.moveaxis(stretches * example.frame, -1, 0)
        middle = (begin + end) / 2
        numbers[..., 0], numbers[..., 1] = np.abs(begin - begins), np.abs(end - ends)
        numbers[..., 2] = (begins <= middle) & (middle <= ends)
    return numbers


def _rows(
    example: EncodedSpeech, step: str
) -> tuple[Int64[np.ndarray, " row"], Int64[np.ndarray, " row"]]:
    """Return the places of the decoder that stand for pieces, in order, and their words.

    The end, predicted after the last word, has a row as well, which tells where that word ends.
    """
    words = np.array(example.target_words)
    if step == "output":
        # A piece is predicted one place before it is read, so that words move by one.
        words = np.append(words[1:], NO_WORD)
    of_words = np.flatnonzero(words >= 0)
    last = int(of_words[-1])
    rows = np.append(of_words, [last + 1] if last + 1 < len(words) else []).astype(np.int64)
    return rows, words[rows]


def _average_pieces(
    shares: Float64[np.ndarray, "unit row"], words: Int64[np.ndarray, " row"], number: int
) -> Float64[np.ndarray, "unit word"]:
    """Return the mean of the pieces of each word."""
    member = words == np.arange(number)[:, None]
    means: Float64[np.ndarray, "unit word"] = (
        shares @ (member / member.sum(1, keepdims=True).clip(1)).T
    )
    return means


def speech_dataset(
    tally: Tally,
    measures: Sequence[str],
    sites: Sequence[AttentionSite],
    chosen: Sequence[tuple[int, int]],
) -> xarray.Dataset:
    """Return named arrays of the distances of words from their times.

    Args:
        tally: Merged tally of the observers.
        measures: Measures of attention.
        sites: Observed layers.
        chosen: Layer and head of each of the combined heads.
    """
    statistics = tally.compute()
    cell = ("measure", "step", "layer")
    variables = {
        **_numbers(statistics["words"], "", cell, np.s_[..., 0, :]),
        **_numbers(statistics["words"], "head_", (*cell, "head"), np.s_[..., 1:, :]),
    }
    if chosen:
        variables |= _numbers(statistics["chosen"], "chosen_", cell[:2], np.s_[...])
    coordinates = {
        "measure": list(measures),
        "step": list(STEPS),
        "layer": [site.layer for site in sites],
        "head": list(range(statistics["words"]["mean"].shape[3] - 1)),
    }
    counts = statistics["words"]["whole"].sum(0)[0, 0, 0, 0]
    attributes = {
        "words": int(counts[-1]),
        "words_with_times": int(counts[0]),
        "chosen_heads": ", ".join(head_name(*place) for place in chosen),
    }
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)


def _numbers(
    statistics: Mapping[str, np.ndarray], prefix: str, axes: tuple[str, ...], unit: Any
) -> dict[str, Any]:
    """Return the variables of `OF_WORDS` that have any finite value."""
    variables: dict[str, Any] = {}
    for at, name in enumerate(OF_WORDS):
        numbers = slots_at(slots_at(statistics, unit), np.s_[..., at])
        if np.isfinite(numbers["mean"]).any():
            variables |= with_slots(f"{prefix}{name}", axes, numbers["mean"], numbers)
    return variables
