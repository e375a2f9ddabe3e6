"""Mixing ratios of tokens: how much a layer mixes in from the context."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord
from headlight.capture.differentiation import frozen
from headlight.capture.linear_network.feed_forward import through_feed_forward
from headlight.capture.residual_connection import followed
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.texts import count_types
from headlight.engine.plan import StudyPlan
from headlight.errors import UsageError, setting
from headlight.measures.mixing_ratio import (
    mixing_ratios,
    parts_of_block,
    ratios_behind_feed_forward,
)
from headlight.observations.layer_arrays import array, moments
from headlight.observations.positions import Texts
from headlight.reduce import Moments
from headlight.settings.attribution import Slope
from headlight.vocabulary import CATEGORIES

BANDS = (1, 10, 100, 1000)
"""Lower bounds of the frequency bands: smallest count of a type in the corpus."""

STATES = ("masked", "given")
"""States of a token: replaced by the mask token, or as given."""

SPECIAL = [CATEGORIES.index(name) for name in ("cls", "sep")]
NONE = -1
"""Id of the mask token where there is none."""

OF_TOKENS = {"mean": "mean", "std": "std", "min": "minimum", "max": "maximum"}
"""Statistics over single tokens."""

MIXING_AXES = {
    "mixing": ("scope", "layer"),
    "mixing_by_category": ("scope", "category", "layer"),
    "mixing_by_frequency": ("scope", "frequency", "layer"),
    "mixing_by_state": ("scope", "state", "layer"),
}


def count_of_types(plan: StudyPlan[Encoded]) -> Int64[np.ndarray, " type"]:
    """Return the number of occurrences of every type in the examples to be observed.

    Raises:
        UsageError: the attention is cross-attention, or the corpus cannot be read again.
    """
    if any(site.kind == "cross" for site in plan.sites):
        raise UsageError(
            "in cross-attention the residual belongs to no key, so there is no mixing ratio; "
            f"choose the encoder or the decoder ({setting('kind=')})."
        )
    tokenizer: Any = plan.model.tokenizer
    target = plan.kind == "decoder" and plan.model.has_decoder_inputs
    examples = islice(plan.examples, plan.max_examples)
    return count_types(examples, len(tokenizer), target=target)


@dataclass(eq=False, repr=False)
class MixingObserver:
    """Observer of the mixing ratio of each token, scope and layer of a batch.

    Attributes:
        texts: Texts of the batch.
        counts: Number of occurrences of every type in the corpus.
        mask: Id of the mask token; None where there is none.
    """

    texts: Texts
    counts: Int64[np.ndarray, " type"]
    mask: int | None
    _ratios: dict[int, Tensor] = field(default_factory=dict, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep the ratios of the layer, by scope and token."""
        self.keep(record.site.layer, mixing_ratios(record))

    def keep(self, layer: int, ratios: Float[Tensor, "scope batch query"]) -> None:
        """Keep given ratios of a layer."""
        self._ratios[layer] = ratios

    def rows(self) -> dict[str, Float64[np.ndarray, "batch *axes"]]:
        """Return the means over the tokens of each text, by the names of `MIXING_AXES`."""
        ratios, category = self._select_tokens(), self.texts.category
        band = np.searchsorted(BANDS, self.counts[self.texts.ids], "right") - 1
        valid = category >= 0
        # No id is `NONE`, so that without a mask token no position is hidden.
        hidden = valid & (self.texts.ids == (NONE if self.mask is None else self.mask))
        states = np.stack([hidden, valid & ~hidden & ~np.isin(category, SPECIAL)], -1)
        return {
            "mixing": _means(ratios, valid[..., None])[..., 0],
            "mixing_by_category": _means(ratios, category[..., None] == np.arange(len(CATEGORIES))),
            "mixing_by_frequency": _means(
                # Mask tokens have no frequency: their type is that of the mask, not of the word
                # below it.
                ratios,
                (valid & ~hidden)[..., None] & (band[..., None] == np.arange(len(BANDS))),
            ),
            "mixing_by_state": _means(ratios, states),
        }

    def tokens(self) -> Moments:
        """Return the moments over single tokens, by scope and layer."""
        return moments(np.moveaxis(self._select_tokens(), (2, 3), (0, 1))[self.texts.category >= 0])

    def _select_tokens(self) -> Float64[np.ndarray, "scope layer batch query"]:
        return array(torch.stack([self._ratios[layer] for layer in sorted(self._ratios)], 1))


def visit_behind_feed_forward(
    observer: MixingObserver, plan: StudyPlan[Encoded], batch: Batch, slope: Slope
) -> None:
    """Run the model, and let an observer also keep the ratios after the feed-forward network.

    The contribution of other tokens to a token is one tangent of the network and that of the token
    itself another, so two copies of the batch run side by side.

    Args:
        observer: Observer that keeps the ratios.
        plan: Plan of the study, which names the model and its layers.
        batch: Batch to run.
        slope: Slope of the linearized activations.
    """
    model, texts = plan.model, len(batch.lengths)
    network: Any = model.transformer
    before: dict[AttentionSite, Tensor] = {}

    def begin(record: LayerRecord) -> None:
        before[record.site] = mixing_ratios(record)[:, :texts]
        others, own_part = parts_of_block(record)
        give(record.site, torch.cat([others[:texts], own_part[texts:]]))

    def end(site: AttentionSite, parts: Float[Tensor, "copy token d_model"]) -> None:
        behind = followed(model.residuals[site]).feed_forward
        norm = None if behind is None else behind.norm
        after = ratios_behind_feed_forward(parts[:texts], parts[texts:], norm)
        # `pop` frees the ratios of a layer as soon as they are joined with those behind it.
        observer.keep(site.layer, torch.cat([before.pop(site), after]))

    copies = batch.repeated(2)
    with (
        through_feed_forward(model, plan.sites, end, slope) as give,
        model.capture(plan.sites, residual=True) as recorder,
        model.running(copies.names),
        frozen(network),
        torch.no_grad(),
    ):
        recorder.visit = begin
        network(**model.inputs(copies))


def _means(
    ratios: Float64[np.ndarray, "scope layer batch query"], members: np.ndarray
) -> Float64[np.ndarray, "batch scope *group_layer"]:
    """Return means over the tokens of each group in each text; NaN for empty groups."""
    has_ratio = ~np.isnan(ratios)
    membership = members.astype(np.float64)
    sums = np.einsum("mlbq,bqg->bmlg", np.where(has_ratio, ratios, 0.0), membership)
    counts = np.einsum("mlbq,bqg->bmlg", has_ratio.astype(np.float64), membership)
    means = sums / np.where(counts > 0, counts, np.nan)
    return means if members.shape[-1] == 1 else np.moveaxis(means, 3, 2)
