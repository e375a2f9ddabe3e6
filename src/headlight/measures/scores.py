"""All measures of one record, computed when first requested."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture import FrozenMap, LayerRecord
from headlight.errors import CaptureError, UnknownNameError, setting
from headlight.measures import norms
from headlight.measures.attention_block import Maps, WholeLayer, folded_output
from headlight.measures.effective import Effective
from headlight.measures.entropy import entropy
from headlight.measures.gated_heads import (
    effective_of_gated,
    gated_merged_norm,
    gated_norm,
    gated_weight,
    have_own_space,
)
from headlight.measures.layer_vectors import Vectors
from headlight.measures.merged_norms import merged_norm_of
from headlight.measures.null_space import NullSpaces, null_spaces_of
from headlight.tensors import GateValues, Score, Weight, back_to, single
from headlight.vocabulary import Measure, ValueBias, add_measure, remove_measure


class Scores:
    """Measures of one attention module on one batch; each is computed once, when requested.

    Args:
        record: Captured tensors of the module.
        value_bias: Whether T, on which effective attention rests, holds the value bias: the vectors
            that the model weights do (``include``), the paper's T = E W^V H does not (``exclude``).
            The norms always have it inside f, as in Kobayashi et al.
        precision: Precision of the last products of effective attention; float32 is enough for
            statistics.
        vectors: Vectors of the layer, where they are known from the scores of other queries.
        sample: Mask of the queries at which norms are computed, where f depends on the query; at
            the others they are 0.  None for all.
    """

    def __init__(
        self,
        record: LayerRecord,
        value_bias: ValueBias = "include",
        precision: torch.dtype = torch.float64,
        vectors: Vectors | None = None,
        sample: Bool[Tensor, "batch query_of_text"] | None = None,
    ) -> None:
        self.record = record
        self._precision = precision
        queries = slice(record.first, record.first + record.shape[2])
        self._sample = None if sample is None else sample[:, queries]
        self.vectors = vectors or Vectors(record, value_bias)

    @property
    def _for_statistics(self) -> bool:
        # Float32 is asked for by statistics of many texts alone, for which compiling pays off.
        return self._precision == torch.float32

    @cached_property
    def weight(self) -> Weight:
        """Return α, times the gate where it is a number for each query and head."""
        return gated_weight(self.record.weight, self.record.gate)

    @property
    def gate_of_components(self) -> GateValues | None:
        """Return g, where it is a vector for each query and head: f then depends on the query."""
        return self.record.gate if self.record.site.gate == "element" else None

    @cached_property
    def vector_norm(self) -> Float[Tensor, "batch head key"]:
        """Return ‖f(x)‖ before any gate, float64."""
        return self.vectors.norm[:, :, : self.record.value.shape[2]]

    @cached_property
    def norm(self) -> Score:
        """Return ‖α f(x)‖."""
        record, gate = self.record, self.gate_of_components
        if gate is not None:
            factor, precision = record.site.projection.factor, self._precision
            return gated_norm(record.weight, record.value, gate, factor, precision, self._sample)
        return norms.weighted_norm(self.weight, self.vector_norm)

    @cached_property
    def merged_norm(self) -> Float[Tensor, "batch query key"]:
        """Return ‖Σ_h α f(x)‖."""
        record, gate = self.record, self.gate_of_components
        if gate is not None:
            output, precision = record.site.projection.weight, self._precision
            return gated_merged_norm(
                record.weight, record.value, gate, output, precision, self._sample
            )
        return merged_norm_of(
            self.weight,
            self.vectors.together(self.weight.dtype, compiled=self._for_statistics),
            record.value,
            record.site.projection.weight,
        )

    @cached_property
    def block_norm(self) -> Float[Tensor, "batch query key"]:
        """Return ‖Σ_h α f(x_j) + δ_ij x_i‖, the norm of the part of each key in the residual sum.

        Parts are taken behind the norm of the branch, where the layer has one.  In cross-attention
        the residual belongs to no key, and is left out.

        Source: Kobayashi et al. (2021).

        Raises:
            CaptureError: The residual was not captured, or f depends on the query.
        """
        layer = self._whole_layer
        others = self.merged_norm
        if layer.site.branch:
            others = self._behind(()) / layer.branch_scale[..., None]
        return layer.with_self_parts(others, lambda parts: parts)

    @cached_property
    def layer_norm(self) -> Float[Tensor, "batch query key"]:
        """Return ‖g_i(Σ_h α f(x_j) + δ_ij x_i)‖, the same behind the norm that follows the sum.

        Where none follows, it is `block_norm`.  The divisor of the norm is frozen.

        Source: Kobayashi et al. (2021).

        Raises:
            CaptureError: The residual was not captured, or f depends on the query.
        """
        return self.block_norm if self._whole_layer.site.norm is None else self._behind_norm(None)

    def encoder_norm(self, second: FrozenMap | None) -> Float[Tensor, "batch query key"]:
        """Compute `layer_norm` behind a second norm as well, without the divisor of the second.

        The second norm follows the feed-forward layer, which changes nothing but this divisor; so
        the result is known before that layer has run.  Where the first norm stands elsewhere, it is
        `block_norm`.

        Args:
            second: Norm behind the feed-forward layer; None where there is none.

        Source: Modarressi et al. (2022), GlobEnc.

        Raises:
            CaptureError: As for `layer_norm`.
        """
        return self._behind_norm(second) if self._whole_layer.site.norm else self.block_norm

    def _behind_norm(self, second: FrozenMap | None) -> Float[Tensor, "batch query key"]:
        layer = self._whole_layer
        others = self._behind(layer.maps_behind_sum(second))
        others = others / (layer.branch_scale * layer.norm_scale)[..., None]
        return layer.with_self_parts(others, lambda parts: layer.apply_norm(parts, second))

    @cached_property
    def _whole_layer(self) -> WholeLayer:
        return WholeLayer(self.record, self.weight)

    def _behind(self, behind: Maps) -> Float[Tensor, "batch query key"]:
        """Return the merged norms behind the maps that follow W^O, without their divisors."""
        layer, record = self._whole_layer, self.record
        if self.gate_of_components is not None:
            raise CaptureError(
                f"{record.site.name}: a gate multiplies each component of its heads, so that the "
                "norm that follows cannot be folded into W^O; leave this measure out."
            )
        folded = folded_output(record.site, layer.site, behind)
        together = self.vectors.behind(folded, self.weight.dtype, compiled=self._for_statistics)
        return merged_norm_of(self.weight, together, record.value, folded.weight)

    @cached_property
    def input_norm(self) -> Float[Tensor, "batch key"]:
        """Return ‖x‖.

        Raises:
            CaptureError: The input of the values of this module was not found.
        """
        if self.record.input is None:
            raise CaptureError(
                f"{self.record.site.name}: what its values are made from was not found, so ‖x‖ is "
                "not known."
            )
        return norms.input_norm(self.record.input)

    @cached_property
    def gradient(self) -> Score:
        """Return |∂L/∂α|, the change of the loss with each weight (Clark et al. 2019, Section 3.2).

        Raises:
            CaptureError: The model was only run forward.
        """
        if self.record.gradient is None:
            raise CaptureError(
                f"{self.record.site.name}: the gradient of its weights was not captured; run the "
                "model backward as well."
            )
        return single(self.record.gradient).abs()

    @cached_property
    def attribution(self) -> Float[Tensor, "batch query key"]:
        """Return c, the contribution of each input token to each hidden token.

        All heads of the layer together, and those of the layers below it.

        Source: Brunner et al. (2020), Section 5.1, Eq. 11.

        Raises:
            CaptureError: Contributions were not computed.
        """
        if self.record.attribution is None:
            raise CaptureError(
                f"{self.record.site.name}: contributions of input tokens were not computed; ask "
                "for them before the model runs."
            )
        return single(self.record.attribution)

    def of(self, measure: str) -> Tensor:
        """Return the measure of that name in `headlight.vocabulary`.

        It has the axes that its row names, for each text of the batch; a measure of pairs of
        positions that belongs to a whole layer has one row in the place of the heads.

        Raises:
            UnknownNameError: There is no such measure.
            CaptureError: A tensor that it needs was not captured.
        """
        if measure not in _FUNCTIONS:
            raise UnknownNameError("measure", measure, _FUNCTIONS)
        return _FUNCTIONS[measure](self)

    @cached_property
    def entropy(self) -> Float[Tensor, "batch head query"]:
        """Return the entropy of α in nats."""
        return entropy(self.weight)

    @property
    def effective(self) -> Score:
        """Return A⊥."""
        return self._effective.attention

    @property
    def null(self) -> Score:
        """Return A∥ = A − A⊥."""
        return self.weight - self.effective

    @property
    def rank(self) -> Int[Tensor, "batch head #query"]:
        """Return the rank of T."""
        return self._effective.rank

    @property
    def transformed(self) -> Float[Tensor, "batch head key head_dim"]:
        """Return f(x) in an orthonormal basis of the space of its head; see `Vectors`."""
        return self.vectors.transformed

    @property
    def rows(self) -> Float[Tensor, "batch head key head_dim"]:
        """Return the rows of T as `transformed` vectors, with the value bias or without it."""
        return self.vectors.rows

    @cached_property
    def null_spaces(self) -> NullSpaces:
        """Return the dimensions of attention that change nothing in the output.

        Raises:
            CaptureError: A gate is zero or W^O has lower rank, so some queries have their own T.
        """
        if bool(self._have_own_space.any()):
            raise CaptureError(
                f"{self.record.site.name}: a gate is zero, or W^O has a lower rank than heads have "
                "dimensions, so the null space of T is another for each query; leave this layer "
                f"out, or load the model in a wider precision ({setting('dtype=')})."
            )
        spaces = self.vectors.spaces, self.vectors.spaces_with_ones
        # A cached property stands among the attributes once it has been computed.
        rank = self.rank if "_effective" in vars(self) else None
        return null_spaces_of(*spaces, self.record.visible, first=self.record.first, rank=rank)

    @cached_property
    def _effective(self) -> Effective:
        record, separate = self.record, self._have_own_space
        weight = record.weight if record.gate is None else self.weight
        result = self.vectors.spaces.effective(
            weight, record.visible, self._precision, record.first
        )
        if not bool(separate.any()):
            return result
        value, gate = self.vectors.values[:, :, : weight.shape[3]], record.gate
        assert gate is not None  # noqa: S101 - without gates all queries share T
        projection = record.site.projection
        width = projection.weight.shape[2]
        attention, rank = effective_of_gated(
            weight, value, gate, projection.factor, width, record.visible, separate
        )
        result.attention[separate] = back_to(attention, weight.device).to(result.attention.dtype)
        ranks = result.rank.expand(weight.shape[:3]).clone()
        ranks[separate] = rank.to(ranks)
        return replace(result, rank=ranks)

    @cached_property
    def _have_own_space(self) -> Bool[Tensor, "batch head query"]:
        """Return the queries with a T of their own, because of their gates."""
        gate = self.gate_of_components
        if gate is None:
            return torch.zeros(1, 1, 1, dtype=torch.bool)
        return have_own_space(gate, self.record.site.projection.factor)


_FUNCTIONS: dict[str, Callable[[Scores], Tensor]] = {
    "weight": lambda scores: scores.weight,
    "norm": lambda scores: scores.norm,
    "effective": lambda scores: scores.effective,
    "gradient": lambda scores: scores.gradient,
    "merged_norm": lambda scores: scores.merged_norm[:, None],
    "block_norm": lambda scores: scores.block_norm[:, None],
    "layer_norm": lambda scores: scores.layer_norm[:, None],
    "attribution": lambda scores: scores.attribution[:, None],
    "vector_norm": lambda scores: scores.vector_norm,
    "input_norm": lambda scores: scores.input_norm,
    "entropy": lambda scores: scores.entropy,
    "rank": lambda scores: scores.rank.amax(-1),
}
"""Function that computes each measure of the table in `headlight.vocabulary`."""


def register_measure(row: Measure, function: Callable[[Scores], Tensor]) -> None:
    """Add a measure to those of readings, studies, pages and options.

    Args:
        row: Name of the measure, its requirements, and its drawing.
        function: Function of the scores of a batch, which returns a tensor over ``batch`` and the
            axes of the row; with an axis ``head`` of size 1 where a measure of pairs of positions
            has none.

    Raises:
        UsageError: There is a measure of that name.
    """
    add_measure(row)
    _FUNCTIONS[row.name] = function


def unregister_measure(name: str) -> None:
    """Remove a measure again.

    Raises:
        UnknownNameError: There is none of that name.
    """
    remove_measure(name)
    del _FUNCTIONS[name]
