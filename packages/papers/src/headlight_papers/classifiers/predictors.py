"""Predictions of a classifier with its attention replaced.

Studies ask a captured model through one protocol, and papers ask their small classifiers through
it, so that both are measured by the same functions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, Replacements, attention_replaced
from headlight.capture.differentiation import frozen
from headlight.capture.gradient_times_input import input_times_gradient
from headlight.encode.batch import Batch
from headlight.measures.adversaries import Candidates
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.components import Component
from headlight.tensors import Weight

Predictions = Float[Tensor, "output class"]
"""Probabilities of the classes: of each text, or of each word of each sentence."""

Predicted = Float64[np.ndarray, "prediction class"]
"""Probabilities of the prediction of a text, or of each word of a sentence of a tagger."""

Change = Callable[[Weight, int], Weight]
"""New weights for those of a layer, ``batch head query key``, with the number of the layer."""

Given = Callable[[Candidates], Float[Tensor, "candidate output class"]]
"""Predictions with these rows of attention in the place of the model's own, which can be
differentiated; of several candidates at once."""


@runtime_checkable
class Predictor(Protocol):
    """Classifier with a batch of texts, and the attention in it that may be another."""

    def predictions(self) -> Predictions:
        """Return the predictions with the model's own attention."""

    def with_attention(self, change: Change) -> Predictions:
        """Return the predictions with other attention, made from the model's own while it runs."""

    def replacing(self) -> AbstractContextManager[Given]:
        """Within the block, run several candidates of imposed attention."""

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """Average over the predictions of each text; the mean can be differentiated."""

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Compute gradient × input of each token.

        Args:
            label: Class whose probability is differentiated; None for the predicted class.
            attention_fixed: Whether attention weights are constants, so that effects of a token
                on them do not count.
        """


@dataclass(frozen=True, eq=False)
class CapturedPredictor:
    """Captured model with a batch, and one component of it whose attention may be another.

    Attributes:
        model: Classifier of texts or of tokens.
        batch: Input of the model.
        positions: Positions of its predictions.
        sites: Observed layers.
        component: A layer or None for all layers, and a head of it or None for all heads.
    """

    model: CapturedModel
    batch: Batch
    positions: LabelPositions
    sites: Sequence[AttentionSite]
    component: Component = (None, None)

    def predictions(self) -> Predictions:
        """Return the predictions with the model's own attention."""
        return self.positions.probabilities(self.model, self.batch)

    def with_attention(self, change: Change) -> Predictions:
        """Return the predictions with other attention of the component."""
        with self._replaced(change):
            return self.predictions()

    @contextmanager
    def replacing(self) -> Iterator[Given]:
        """Within the block, candidates run as copies of the batch; rows are layer by layer."""
        network: Any = self.model.transformer
        current: dict[int, Tensor] = {}

        def run_candidates(candidates: Candidates) -> Float[Tensor, "candidate output class"]:
            rows = candidates.flatten(0, 1)
            for site, part in zip(self._layers, self._split(rows), strict=True):
                current[site.layer] = part
            logits = network(**self._copies(len(candidates))).logits.chunk(len(candidates))
            predictions = torch.stack([self.positions.predictions(copy) for copy in logits])
            # MPS has no float64.
            exact = torch.float32 if predictions.device.type == "mps" else torch.float64
            return predictions.to(exact).softmax(-1)

        with (
            self._replaced(lambda _, layer: current[layer]),
            self.model.running(self.batch.names),
            frozen(network),  # gradients are of the candidates alone
            torch.inference_mode(mode=False),
        ):
            yield run_candidates

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """See `LabelPositions.mean_by_text`."""
        return self.positions.mean_by_text(values)

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Compute gradient × input; of a tagger for the mean over the words of a sentence."""

        def probability(output: Any) -> Float[Tensor, " text"]:
            probabilities = self.positions.predictions(output.logits).softmax(-1)
            chosen = probabilities.amax(-1) if label is None else probabilities[..., label]
            return self.positions.mean_by_text(chosen[None])[0]

        if not attention_fixed:
            return input_times_gradient(self.model, self.batch, probability)
        with self._replaced(lambda weight, _: weight.detach()):
            return input_times_gradient(self.model, self.batch, probability)

    @property
    def _layers(self) -> list[AttentionSite]:
        return [site for site in self.sites if self.component[0] in (None, site.layer)]

    def _replaced(self, change: Change) -> AbstractContextManager[None]:
        """Within the block, replace the attention of the component."""
        head = self.component[1]

        def replace(weight: Tensor, site: AttentionSite) -> Tensor:
            if head is None:
                return change(weight, site.layer)
            return change(weight[:, None], site.layer)[:, 0]

        replacements: Replacements = {
            site.layer if head is None else (site.layer, head): replace for site in self._layers
        }
        return attention_replaced(self.model, replacements, kind=self.sites[0].kind)

    def _split(self, rows: Float[Tensor, "copy row key"]) -> list[Tensor]:
        """Split rows of heads and queries into the weights of each layer of the component."""
        is_head = self.component[1] is not None
        heads = [1 if is_head else site.heads for site in self._layers]
        queries = rows.shape[1] // sum(heads)
        parts = torch.split_with_sizes(rows, [number * queries for number in heads], 1)
        return [part.unflatten(1, (-1, queries)) for part in parts]  # type: ignore[no-untyped-call]

    def _copies(self, number: int) -> dict[str, Any]:
        """Return the inputs of the model, for copies of the batch one after the other."""
        return {
            name: value.repeat(number, *[1] * (value.ndim - 1))
            if isinstance(value, Tensor)
            else value
            for name, value in self.model.inputs(self.batch).items()
        }
