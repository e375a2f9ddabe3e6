"""Massive activations: how large the residual stream gets that enters each block.

Source: Sun et al. (2024), "Massive Activations in Large Language Models", Section 2.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from headlight.analysis.batch_texts import units_of
from headlight.analysis.positions import stacked
from headlight.analysis.sentences import rank_of
from headlight.analysis.variables import Variable
from headlight.capture import LayerRecord
from headlight.encode import Encoded, token_names
from headlight.encode.batch import Batch
from headlight.measures.precision import double, single
from headlight.reduce import Accumulator, Strongest
from headlight.studies.heads.part import (
    Outcome,
    PartObserver,
    SeenLayer,
    Variables,
    means,
    number,
)
from headlight.studies.heads.passages import sides
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO, Kind

SAMPLED = 16
"""Tokens of a text, evenly spread, whose entries have the median: that of all costs far more."""

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
"""In the order in which an observer sees them."""

VARIABLES = {
    **BY_TEXT,
    "residual_highest": Variable("largest entry of the corpus, in size", ""),
    "residual_dimension": Variable("its dimension"),
    "residual_place": Variable("place of its token in the text"),
    "residual_token": Variable("its token"),
}


class ResidualObserver(PartObserver):
    """Observer of the input of each block; `members` holds that of one batch."""

    wants_stream = True

    def __init__(self, batch: Batch, examples: Sequence[Encoded], kind: Kind) -> None:
        ids, categories = sides(batch, kind)
        self._ids, self._there = ids[0], categories[0] >= 0
        self._begin = self._there.int().argmax(1)
        self._units = units_of(examples)
        self._ranks = np.array([rank_of(example, kind) for example in examples])
        self._sample = self._begin[:, None] + _spread(self._there.sum(1))
        self._found: dict[int, Tensor] = {}

    def note_layer(self, seen: SeenLayer) -> None:
        """Observe its block."""
        self.visit(seen.record)

    def visit(self, record: LayerRecord) -> None:
        """Look at the block of a layer."""
        layer = record.site.layer
        if record.stream is None:
            self._found[layer] = torch.full((len(self._begin), 7), torch.nan).double()
            return
        there, texts = self._there, torch.arange(len(self._begin), device=self._begin.device)
        size = single(record.stream).abs()
        highest = size.amax(2).masked_fill(~there, -1)
        largest, place = highest.max(1)
        dimension = size[texts, place].argmax(1)
        median = size[texts[:, None], self._sample].flatten(1).median(1).values
        length = single(record.stream).norm(dim=2)
        others = length.masked_fill(~there, torch.nan).nanquantile(0.5, dim=1)
        ratio = largest / median
        massive = (largest > MASSIVE) & (ratio >= MASSIVE_RATIO)
        place_in_text, token = place - self._begin, self._ids[texts, place]
        beside = length[texts, self._begin] / others
        found = largest, ratio, massive, beside, dimension, place_in_text, token
        self._found[layer] = torch.stack([double(each) for each in found], 1)

    def members(self) -> dict[str, Accumulator]:
        """The statistics of the batch, by name."""
        seen = stacked([self._found[layer] for layer in sorted(self._found)])
        largest = Strongest(seen.shape[1:2], width=3)
        largest.update(
            seen[..., 0], np.broadcast_to(self._ranks[:, None], seen.shape[:2]), seen[..., 4:]
        )
        return {**means("residual", seen[..., :4], self._units), "residual_largest": largest}


def _spread(lengths: Int64[Tensor, " batch"]) -> Int64[Tensor, "batch sampled"]:
    """Numbers of `SAMPLED` tokens of each text, evenly spread; of a short one some come again."""
    steps = torch.arange(SAMPLED, device=lengths.device)
    found: Tensor = steps * lengths[:, None] // SAMPLED
    return found


def residual(outcome: Outcome) -> Variables:
    """Return how large it gets; nothing where it is not known what enters blocks."""
    found, tokenizer = outcome.found, outcome.tokenizer
    if "residual" not in found or not np.isfinite(found["residual"]["mean"]).any():
        return {}
    largest = found["residual_largest"]
    dimension, place, token = largest["rows"][0].T
    variables: Variables = {}
    for at, name in enumerate(BY_TEXT):
        variables |= number(name, ("layer",), found, "residual", at)
    variables["residual_highest"] = "layer", largest["score"][0]
    variables["residual_dimension"] = "layer", dimension
    variables["residual_place"] = "layer", place
    if tokenizer is not None:
        names = [
            token_names(tokenizer, [int(each)])[0] if np.isfinite(each) else ""
            for each in token.tolist()
        ]
        variables["residual_token"] = "layer", np.array(names, dtype=object)
    return variables
