"""All measures of one record, computed when first asked for."""

from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.errors import CaptureError, UnknownNameError
from headlight.measures import norm as norms
from headlight.measures.effective import Effective, effective_of_rows
from headlight.measures.entropy import entropy
from headlight.measures.precision import back_to, double, single
from headlight.shapes import Score, Value, Weight

ValueBias = Literal["include", "exclude"]


class Scores:
    """The measures of one attention module on one batch; each is computed once, when asked for.

    Args:
        record: what was captured.
        value_bias: whether T, on which effective attention rests, holds the value bias: what is
            really weighted (``include``), or the paper's T = E W^V H (``exclude``).  The norms
            always have it inside f, as in Kobayashi et al.
        precision: of the last products of effective attention; float32 is enough for statistics.
    """

    def __init__(
        self,
        record: LayerRecord,
        value_bias: ValueBias = "include",
        precision: torch.dtype = torch.float64,
    ) -> None:
        self.record = record
        self._value_bias = value_bias
        self._precision = precision

    @cached_property
    def weight(self) -> Weight:
        """α, float32 or better."""
        return single(self.record.weight)

    @cached_property
    def vector_norm(self) -> Float[Tensor, "batch head key"]:
        """‖f(x)‖, float64."""
        return back_to(self.transformed.norm(dim=-1), self.record.value.device)

    @cached_property
    def norm(self) -> Score:
        """‖α f(x)‖."""
        return norms.weighted_norm(self.weight, self.vector_norm)

    @cached_property
    def merged_norm(self) -> Float[Tensor, "batch query key"]:
        """‖Σ_h α f(x)‖."""
        projection = self.record.site.projection
        return norms.merged_norm(
            self.weight,
            self.transformed,
            self.norm,
            projection.overlap,
            self.record.value,
            projection.weight,
        )

    @cached_property
    def input_norm(self) -> Float[Tensor, "batch key"]:
        """‖x‖.

        Raises:
            CaptureError: it was not found where the values of this module come from.
        """
        if self.record.input is None:
            raise CaptureError(
                f"{self.record.site.name}: what its values are made from was not found, so ‖x‖ is "
                "not known."
            )
        return norms.input_norm(self.record.input)

    @cached_property
    def gradient(self) -> Score:
        """|∂L/∂α|, how much the loss changes with each weight (Clark et al. 2019, Section 3.2).

        Raises:
            CaptureError: the model was only run forward.
        """
        if self.record.gradient is None:
            raise CaptureError(
                f"{self.record.site.name}: the gradient of its weights was not captured; run the "
                "model backward as well."
            )
        return single(self.record.gradient).abs()

    def of(self, measure: str) -> Score:
        """The measure of that name.

        Raises:
            UnknownNameError: it is none of `MEASURES` and ``gradient``.
        """
        if measure not in (*MEASURES, GRADIENT):
            raise UnknownNameError("measure", measure, (*MEASURES, GRADIENT))
        score: Score = getattr(self, measure)
        return score

    @cached_property
    def entropy(self) -> Float[Tensor, "batch head query"]:
        """Entropy of α in nats."""
        return entropy(self.weight)

    @property
    def effective(self) -> Score:
        """A⊥."""
        return self._effective.attention

    @property
    def null(self) -> Score:
        """A∥ = A − A⊥."""
        return self.weight - self.effective

    @property
    def rank(self) -> Int[Tensor, "batch head #query"]:
        """Rank of T."""
        return self._effective.rank

    @cached_property
    def transformed(self) -> Float[Tensor, "batch head key head_dim"]:
        """f(x) in an orthonormal basis of the space of its head: lengths and products, float64.

        On the CPU where the device has no float64.
        """
        return norms.compressed(self.record.value, self.record.site.projection.factor)

    @cached_property
    def _effective(self) -> Effective:
        record, projection = self.record, self.record.site.projection
        rows = (
            self.transformed
            if self._value_bias == "include"
            else norms.compressed(self._value_without_bias(), projection.factor)
        )
        return effective_of_rows(
            record.weight, rows, projection.weight.shape[2], record.visible, self._precision
        )

    def _value_without_bias(self) -> Value:
        value, site = self.record.value, self.record.site
        if site.value_bias is None:
            raise CaptureError(
                f"{site.name}: its value bias was not found, so it cannot be excluded."
            )
        return double(value) - double(site.value_bias)[:, None]


MEASURES = ("weight", "norm", "effective")
"""The measures of a pair of positions and a head that can be compared with one another."""

GRADIENT = "gradient"
"""One more such measure, which needs a loss and a backward pass."""
