"""Times of the words of recordings by cross-attention, and their distance from the true times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64, Int64

from headlight.analysis.batch_texts import units_of
from headlight.analysis.variables import (
    Variable,
    described,
    long_names,
    slots_at,
    with_slots,
)
from headlight.capture import AttentionSite, LayerRecord
from headlight.encode import EncodedSpeech
from headlight.encode.batch import NO_WORD
from headlight.measures import Scores
from headlight.reduce import Slots, Tally
from headlight.studies.alignment import AlignmentSettings
from headlight.vocabulary import head_name, measure as described_measure
from headlight.word_alignment.settings import STEPS
from headlight.word_alignment.times import (
    Maps,
    on_path,
    row_starts,
    standardised,
    word_stretches,
)

AROUND = 0.1
"""Seconds around a stretch that count as it, for `on_path`."""

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
"""What is said of each way to link words to time; all but the last only where times are known."""

BY = {
    "": ", of all heads of a layer together",
    "head_": ", of a head",
    "chosen_": ", of the chosen heads together",
}
VARIABLES = long_names(OF_WORDS, BY)


@dataclass(eq=False, repr=False)
class SpeechAlignmentObserver:
    """Sees the cross-attention of a batch; keeps of every word how far from its time it is found.

    Attributes:
        examples: of the batch.
        sites: the layers that are observed.
        chosen: layer and head of those that are put together.
        settings: what is asked.
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
        """Look at one layer; of it the maps of the chosen heads are kept."""
        scores, layer = Scores(record, precision=torch.float32), record.site.layer
        for measure in self.settings.of_attention:
            score = scores.of(measure).cpu().double().numpy()
            for row, example in enumerate(self.examples):
                maps = score[row, :, :, : example.heard]
                for step in STEPS:
                    self._found[row, measure, step, layer] = found(maps, example, step, measure)
                for head in (head for at, head in self.chosen if at == layer):
                    self._kept[row, measure, layer, head] = maps[head, None].copy()

    def tally(self) -> Tally:
        """Return the numbers of words by measure, step, layer and head, then of chosen heads."""
        rows, chosen = [], []
        for row, example in enumerate(self.examples):
            rows.append(self._of_layers(row, len(example.target_text)))
            if self.chosen:
                chosen.append(self._of_chosen(row, example))
        units = np.repeat(units_of(self.examples), [len(each) for each in rows])
        members = {"words": Slots.of(units, np.concatenate(rows))}
        if chosen:
            members["chosen"] = Slots.of(units, np.concatenate(chosen))
        return Tally(dict(members))

    def _of_layers(
        self, row: int, words: int
    ) -> Float64[np.ndarray, "word measure step layer unit number"]:
        """First what a layer finds, then each of its heads; NaN for those that it lacks."""
        measures = self.settings.of_attention
        axes = (len(measures), len(STEPS), len(self.sites), 1 + self._heads, len(OF_WORDS))
        made = np.full((words, *axes), np.nan)
        for at, measure in enumerate(measures):
            for column, step in enumerate(STEPS):
                for place, site in enumerate(self.sites):
                    each = self._found[row, measure, step, site.layer]
                    made[:, at, column, place, : len(each)] = each.swapaxes(0, 1)
        return made

    def _of_chosen(
        self, row: int, example: EncodedSpeech
    ) -> Float64[np.ndarray, "word measure step number"]:
        made = []
        for measure in self.settings.of_attention:
            maps = np.concatenate([self._kept[row, measure, *place] for place in self.chosen])
            made.append([found(maps, example, step, measure)[0] for step in STEPS])
        return np.moveaxis(np.array(made), 2, 0)


def found(
    maps: Maps, example: EncodedSpeech, step: str, measure: str
) -> Float64[np.ndarray, "unit word number"]:
    """Return the numbers `OF_WORDS` by all maps together, then by each; NaN if unknown.

    Args:
        maps: of heads, between all places of the decoder and the frames that are heard.
        example: the recording.
        step: which row speaks for a piece: where it is read (``input``) or predicted (``output``).
        measure: of the maps.
    """
    rows, words = _rows(example, step)
    maps, frames = maps[:, rows], example.heard
    if described_measure(measure).signed:
        maps = np.abs(maps)
    whole = maps.sum(2, keepdims=True)
    maps = np.divide(maps, whole, out=np.zeros_like(maps), where=whole > 0)
    scaled = standardised(maps)
    scaled = np.concatenate([scaled.mean(0, keepdims=True), scaled])
    starts = row_starts(scaled)
    stretches = word_stretches(starts, words, len(example.target_text), frames)
    shares = on_path(np.concatenate([maps.mean(0, keepdims=True), maps]), starts,
                     round(AROUND / example.frame))  # fmt: skip
    made = np.full((*stretches.shape[:2], len(OF_WORDS)), np.nan)
    made[..., -1] = _by_word(shares, words, made.shape[1])
    if example.times is not None:
        begins, ends = np.transpose(example.times)
        begin, end = np.moveaxis(stretches * example.frame, -1, 0)
        middle = (begin + end) / 2
        made[..., 0], made[..., 1] = np.abs(begin - begins), np.abs(end - ends)
        made[..., 2] = (begins <= middle) & (middle <= ends)
    return made


def _rows(
    example: EncodedSpeech, step: str
) -> tuple[Int64[np.ndarray, " row"], Int64[np.ndarray, " row"]]:
    """The places of the decoder that speak for pieces, in order, and their words.

    What is predicted after the last word, the end, has a row as well: it says where the word ends.
    """
    words = np.array(example.target_words)
    if step == "output":
        words = np.append(words[1:], NO_WORD)
    of_words = np.flatnonzero(words >= 0)
    last = int(of_words[-1])
    rows = np.append(of_words, [last + 1] if last + 1 < len(words) else []).astype(np.int64)
    return rows, words[rows]


def _by_word(
    shares: Float64[np.ndarray, "unit row"], words: Int64[np.ndarray, " row"], number: int
) -> Float64[np.ndarray, "unit word"]:
    """The mean of the pieces of each word."""
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
    """Named arrays of how far words are found from their times.

    Args:
        tally: what the observers saw, merged.
        measures: of attention.
        sites: the observed layers.
        chosen: layer and head of those that were put together.
    """
    seen = tally.compute()
    cell = ("measure", "step", "layer")
    variables = {
        **_numbers(seen["words"], "", cell, np.s_[..., 0, :]),
        **_numbers(seen["words"], "head_", (*cell, "head"), np.s_[..., 1:, :]),
    }
    if chosen:
        variables |= _numbers(seen["chosen"], "chosen_", cell[:2], np.s_[...])
    coordinates = {
        "measure": list(measures),
        "step": list(STEPS),
        "layer": [site.layer for site in sites],
        "head": list(range(seen["words"]["mean"].shape[3] - 1)),
    }
    counts = seen["words"]["whole"].sum(0)[0, 0, 0, 0]
    attributes = {
        "words": int(counts[-1]),
        "words_with_times": int(counts[0]),
        "chosen_heads": ", ".join(head_name(*place) for place in chosen),
    }
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)


def _numbers(
    seen: Mapping[str, np.ndarray], prefix: str, axes: tuple[str, ...], unit: Any
) -> dict[str, Any]:
    """Each number, those alone of which something was seen."""
    found: dict[str, Any] = {}
    for at, name in enumerate(OF_WORDS):
        numbers = slots_at(slots_at(seen, unit), np.s_[..., at])
        if np.isfinite(numbers["mean"]).any():
            found |= with_slots(f"{prefix}{name}", axes, numbers["mean"], numbers)
    return found
