"""Massive activations: largest entries of the residual stream that enters each block.

Source: Sun et al. (2024), "Massive Activations in Large Language Models", Section 2.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int32, Int64
from torch import Tensor

from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.measures.compiled_loops import compile_loop
from headlight.observations.text_ids import rank_of, units_of
from headlight.observations.variables import Variable
from headlight.reduce import Accumulator, Strongest
from headlight.reduce.accumulator import Array
from headlight.reduce.moments import medians
from headlight.studies.survey.part import Outcome, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenLayer, inputs_of
from headlight.studies.survey.query_and_key_tokens import sides
from headlight.studies.survey.text_means import means, number
from headlight.tensors import double, single
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO, Kind

SAMPLED = 16
"""Number of tokens of a text, evenly spaced, for the median entry; all tokens cost far more."""

MAGNITUDE = np.int32(0x7FFFFFFF)
"""Mask of all bits of a float32 but the sign."""

BY_TEXT = {
    "residual_max": Variable(
        "largest entry, in size, of what enters the block, mean over texts", "", interval="positive"
    ),
    "residual_ratio": Variable(
        f"that entry divided by the median entry at {SAMPLED} tokens, in size", interval="positive"
    ),
    "residual_massive": Variable("share of the texts with a massive activation", interval="share"),
    "residual_length": Variable(
        "length of the first token's vector divided by the median length", interval="positive"
    ),
}
"""Variables of each text, in the order in which the observer holds them."""

VARIABLES = {
    **BY_TEXT,
    "residual_highest": Variable("largest entry of the corpus, in size", ""),
    "residual_dimension": Variable("its dimension"),
    "residual_place": Variable("place of its token in the text"),
    "residual_token": Variable("its token"),
}

INPUT_VARIABLES = {
    "activation_max": Variable(
        "largest entry, in size, of the vectors that values are made from", "", interval="positive"
    ),
    "activation_ratio": Variable(
        "that entry divided by the median entry of its vector, in size", interval="positive"
    ),
    "activation_dimension": Variable("dimension of the largest of the corpus"),
    "activation_place": Variable("place of its token in the text"),
}
"""Variables of the input vectors of values, listed among those of behaviours."""


class ResidualObserver(PartObserver):
    """Observer of the input of each block, and of the input of its values, in one batch."""

    on_device = ("_streams", "_inputs", "_ids", "_masks", "_begins")

    wants_stream = True

    def __init__(self, batch: Batch, examples: Sequence[Encoded], kind: Kind) -> None:
        ids, categories = sides(batch, kind)
        self._ids = ids[0]
        self._masks = [category >= 0 for category in categories]
        # Padding may stand before a text, so that texts need not begin at 0.
        self._begins = [mask.int().argmax(1) for mask in self._masks]
        self._units = units_of(examples)
        self._ranks = np.array([rank_of(example, kind) for example in examples])
        self._sample = self._begins[0][:, None] + _spread(self._masks[0].sum(1))
        self._streams: dict[int, tuple[Tensor, ...]] = {}
        self._inputs: dict[int, tuple[Tensor, Tensor]] = {}

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep the largest entries, medians and lengths of the inputs of a layer."""
        record, number = layer.record, layer.record.site.layer
        self._streams[number] = ()
        if record.stream is not None:
            stream = record.stream.detach()
            peak, length = _peaks(stream, self._masks[0]), single(stream).norm(dim=2)
            self._streams[number] = *peak, _medians(stream, self._sample), length
        if (inputs := inputs_of(record)) is not None:
            self._inputs[number] = _peaks(inputs.detach(), self._masks[1])

    def members(self) -> dict[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        layers = [self._streams[layer] for layer in sorted(self._streams)]
        rows = np.full((len(self._ids), len(layers), 7), np.nan)
        for at, of_stream in enumerate(layers):
            if of_stream:
                rows[:, at] = self._measure_stream(*of_stream)
        members = means("residual", rows[..., :4], self._units)
        members["residual_largest"] = self._largest(rows[..., 0], rows[..., 4:])
        # Where some layer's inputs were not captured, none are reported.
        if len(self._inputs) == len(layers):
            of_inputs = [
                self._measure_inputs(*self._inputs[layer]) for layer in sorted(self._inputs)
            ]
            rows = np.stack(of_inputs, 1)
            members |= means("activation", rows[..., :2], self._units)
            members["largest_activation"] = self._largest(rows[..., 0], rows[..., 2:])
        return members

    def _largest(self, score: Array, rows: Array) -> Strongest:
        largest = Strongest(score.shape[1:], width=rows.shape[-1])
        largest.update(score, np.broadcast_to(self._ranks[:, None], score.shape), rows)
        return largest

    def _measure_stream(
        self,
        place: Int64[Tensor, " batch"],
        size: Float[Tensor, "batch size"],
        median: Float[Tensor, " batch"],
        length: Float[Tensor, "batch token"],
    ) -> Float64[np.ndarray, "batch number"]:
        """Return the numbers of `BY_TEXT`, and dimension, place and token of the largest entry."""
        texts, begin = torch.arange(len(size)), self._begins[0]
        largest, dimension = size.max(1)
        others = length.masked_fill(~self._masks[0], torch.nan)
        ratio = largest / median
        massive = (largest > MASSIVE) & (ratio >= MASSIVE_RATIO)
        beside = length[texts, begin] / torch.from_numpy(medians(others.numpy()))
        token = self._ids[texts, place]
        statistics = largest, ratio, massive, beside, dimension, place - begin, token
        return torch.stack([double(values) for values in statistics], 1).numpy()

    def _measure_inputs(
        self, place: Int64[Tensor, " batch"], size: Float[Tensor, "batch size"]
    ) -> Float64[np.ndarray, "batch 4"]:
        """Return size, ratio to the median of its vector, dimension and place of the largest."""
        largest, dimension = size.max(1)
        ratio = largest / torch.from_numpy(medians(size.numpy()))
        statistics = largest, ratio, dimension, place - self._begins[1]
        return torch.stack([double(values) for values in statistics], 1).numpy()


Vectors = Float[Tensor, "batch position size"]


def _peaks(
    vectors: Vectors, mask: Bool[Tensor, "batch position"]
) -> tuple[Int64[Tensor, " batch"], Float[Tensor, "batch size"]]:
    """Return the position of the largest absolute entry of each text, and its absolute vector.

    Args:
        vectors: Vectors of all positions.
        mask: Positions that count.
    """
    if (bits := _bits(vectors)) is None:
        highest = vectors.abs().amax(2)
    else:
        highest = torch.empty(vectors.shape[:2])
        _compiled()[0](bits, highest.numpy().view(np.int32))
    place = highest.masked_fill(~mask, -1).argmax(1)
    texts = torch.arange(len(vectors), device=vectors.device)
    return place, single(vectors[texts, place].abs())


def _medians(vectors: Vectors, sample: Int64[Tensor, "batch sampled"]) -> Float[Tensor, " batch"]:
    """Return the lower median of the absolute entries of sampled vectors of each text."""
    if (bits := _bits(vectors)) is None:
        texts = torch.arange(len(vectors), device=vectors.device)[:, None]
        return single(vectors[texts, sample]).abs().flatten(1).median(1).values
    middle = torch.empty(len(vectors))
    _compiled()[1](bits, sample.numpy(), middle.numpy().view(np.int32))
    return middle


def _bits(vectors: Vectors) -> Int32[np.ndarray, "batch position size"] | None:
    # Compiled loops read float32 in the memory of the host; other vectors go another way.
    if vectors.device.type != "cpu" or vectors.dtype != torch.float32:
        return None
    return np.asarray(vectors.contiguous().numpy().view(np.int32))


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    return compile_loop(_find_peaks), compile_loop(_find_medians)


@no_type_check
def _find_peaks(bits, peaks):
    """Write the bits of the largest absolute entry of each vector, whose order is theirs."""
    for text in range(len(bits)):
        for position in range(bits.shape[1]):
            vector, peak = bits[text, position], np.int32(0)
            for place in range(len(vector)):
                # Without the sign, the bits of floats are ordered as their sizes are.
                peak = max(peak, np.int32(vector[place] & MAGNITUDE))
            peaks[text, position] = peak


@no_type_check
def _find_medians(bits, sample, medians):
    """Write the bits of the lower median of the absolute entries of sampled vectors of each text.

    A radix selection: from the highest bits on, entries are counted by some of their bits, and
    those are kept that share these bits with the median.
    """
    size = bits.shape[2]
    entries, counts = np.empty(sample.shape[1] * size, np.int32), np.empty(1 << 11, np.int32)
    for text in range(len(bits)):
        for at in range(sample.shape[1]):
            vector, begin = bits[text, sample[text, at]], at * size
            for place in range(size):
                entries[begin + place] = np.int32(vector[place] & MAGNITUDE)
        count, rank = len(entries), (len(entries) - 1) // 2
        # Three steps of 11, 11 and 9 bits cover the 31 bits below the sign.
        for shift in (20, 9, 0):
            counts[:] = 0
            for place in range(count):
                counts[(entries[place] >> shift) & 2047] += 1
            part = 0
            while rank >= counts[part]:
                rank -= counts[part]
                part += 1
            end = 0
            for place in range(count):
                entries[end] = entries[place]
                # The entry is written first and kept only if the end moves, which saves a branch.
                end += ((entries[end] >> shift) & 2047) == part
            count = end
        medians[text] = entries[0]


def _spread(lengths: Int64[Tensor, " batch"]) -> Int64[Tensor, "batch sampled"]:
    steps = torch.arange(SAMPLED, device=lengths.device)
    places: Tensor = steps * lengths[:, None] // SAMPLED
    return places


def residual(outcome: Outcome) -> Variables:
    """Return the variables of the residual stream; nothing where it was not recorded."""
    statistics, tokenizer = outcome.statistics, outcome.tokenizer
    if "residual" not in statistics or not np.isfinite(statistics["residual"]["mean"]).any():
        return {}
    largest = statistics["residual_largest"]
    dimension, place, token = largest["rows"][0].T
    variables: Variables = {}
    for at, name in enumerate(BY_TEXT):
        variables |= number(name, ("layer",), statistics, "residual", at)
    variables["residual_highest"] = "layer", largest["score"][0]
    variables["residual_dimension"] = "layer", dimension
    variables["residual_place"] = "layer", place
    if tokenizer is not None:
        names = [
            token_names(tokenizer, [int(token_id)])[0] if np.isfinite(token_id) else ""
            for token_id in token.tolist()
        ]
        variables["residual_token"] = "layer", np.array(names, dtype=object)
    return variables


def input_activations(statistics: dict[str, Any]) -> Variables:
    """Return the largest entries of the inputs of values; nothing where these are unknown."""
    if "activation" not in statistics:
        return {}
    largest = statistics["largest_activation"]["rows"][0]
    return {
        **number("activation_max", ("layer",), statistics, "activation", 0),
        **number("activation_ratio", ("layer",), statistics, "activation", 1),
        "activation_dimension": ("layer", largest[:, 0]),
        "activation_place": ("layer", largest[:, 1]),
    }
