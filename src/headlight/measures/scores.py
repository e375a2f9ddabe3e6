"""All measures of one record, computed when first asked for."""

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
    of_their_own,
)
from headlight.measures.layer_vectors import Vectors
from headlight.measures.merged_norms import merged_norm_of
from headlight.measures.null_space import NullSpaces, null_spaces_of
from headlight.tensors import GateValues, Score, Weight, back_to, single
from headlight.vocabulary import Measure, ValueBias, add_measure, remove_measure


class Scores:
    """The measures of one attention module on one batch; each is computed once, when asked for.

    Args:
        record: what was captured.
        value_bias: whether T, on which effective attention rests, holds the value bias: what is
            really weighted (``include``), or the paper's T = E W^V H (``exclude``).  The norms
            always have it inside f, as in Kobayashi et al.
        precision: of the last products of effective attention; float32 is enough for statistics.
        vectors: those of the layer, where scores of other queries of it are known.
        sample: the queries of the text at which norms are taken, where f depends on the query; at
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
    def _of_many(self) -> bool:
        """Whether it is for statistics of many texts."""
        return self._precision == torch.float32

    @cached_property
    def weight(self) -> Weight:
        """α, times the gate where it is a number for each query and head; float32 or better."""
        return gated_weight(self.record.weight, self.record.gate)

    @property
    def gate_of_components(self) -> GateValues | None:
        """g, where it is a vector for each query and head: f then depends on the query."""
        return self.record.gate if self.record.site.gate == "element" else None

    @cached_property
    def vector_norm(self) -> Float[Tensor, "batch head key"]:
        """‖f(x)‖ before any gate, float64."""
        return self.vectors.norm[:, :, : self.record.value.shape[2]]

    @cached_property
    def norm(self) -> Score:
        """‖α f(x)‖."""
        record, gate = self.record, self.gate_of_components
        if gate is not None:
            factor, precision = record.site.projection.factor, self._precision
            return gated_norm(record.weight, record.value, gate, factor, precision, self._sample)
        return norms.weighted_norm(self.weight, self.vector_norm)

    @cached_property
    def merged_norm(self) -> Float[Tensor, "batch query key"]:
        """‖Σ_h α f(x)‖."""
        record, gate = self.record, self.gate_of_components
        if gate is not None:
            output, precision = record.site.projection.weight, self._precision
            return gated_merged_norm(
                record.weight, record.value, gate, output, precision, self._sample
            )
        return merged_norm_of(
            self.weight,
            self.vectors.together(self.weight.dtype, compiled=self._of_many),
            record.value,
            record.site.projection.weight,
        )

    @cached_property
    def block_norm(self) -> Float[Tensor, "batch query key"]:
        """‖Σ_h α f(x_j) + δ_ij x_i‖: what each key gives to the sum with the residual.

        Behind the norm of the branch, where the layer has one.  In cross-attention, where the
        residual belongs to no key, without it.

        Source: Kobayashi et al. (2021).

        Raises:
            CaptureError: the residual was not captured, or f depends on the query.
        """
        layer = self._whole_layer
        others = self.merged_norm
        if layer.site.branch:
            others = self._behind(()) / layer.branch_scale[..., None]
        return layer.with_own(others, lambda parts: parts)

    @cached_property
    def layer_norm(self) -> Float[Tensor, "batch query key"]:
        """‖g_i(Σ_h α f(x_j) + δ_ij x_i)‖: the same behind the norm that follows the sum.

        Where none follows, it is `block_norm`.  What the norm divides by is frozen.

        Source: Kobayashi et al. (2021).

        Raises:
            CaptureError: the residual was not captured, or f depends on the query.
        """
        return self.block_norm if self._whole_layer.site.norm is None else self._behind_norm(None)

    def encoder_norm(self, second: FrozenMap | None) -> Float[Tensor, "batch query key"]:
        """`layer_norm`, behind a second norm as well, but for what that divides by.

        The second norm follows the feed-forward layer, of which it sees nothing but that number; so
        this can be told before it has run.  Where the norm stands elsewhere, it is `block_norm`.

        Args:
            second: it.

        Source: Modarressi et al. (2022), GlobEnc.

        Raises:
            CaptureError: as `layer_norm`.
        """
        return self._behind_norm(second) if self._whole_layer.site.norm else self.block_norm

    def _behind_norm(self, second: FrozenMap | None) -> Float[Tensor, "batch query key"]:
        layer = self._whole_layer
        others = self._behind(layer.behind_sum(second))
        others = others / (layer.branch_scale * layer.norm_scale)[..., None]
        return layer.with_own(others, lambda parts: layer.behind_norm(parts, second))

    @cached_property
    def _whole_layer(self) -> WholeLayer:
        return WholeLayer(self.record, self.weight)

    def _behind(self, behind: Maps) -> Float[Tensor, "batch query key"]:
        """The merged norms behind what follows W^O, but for what that divides by."""
        layer, record = self._whole_layer, self.record
        if self.gate_of_components is not None:
            raise CaptureError(
                f"{record.site.name}: a gate multiplies each component of its heads, so that the "
                "norm that follows cannot be folded into W^O; leave this measure out."
            )
        folded = folded_output(record.site, layer.site, behind)
        together = self.vectors.behind(folded, self.weight.dtype, compiled=self._of_many)
        return merged_norm_of(self.weight, together, record.value, folded.weight)

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

    @cached_property
    def attribution(self) -> Float[Tensor, "batch query key"]:
        """Return c, the contribution of each input token to each hidden token.

        All heads of the layer together, and those of the layers below it.

        Source: Brunner et al. (2020), Section 5.1, Eq. 11.

        Raises:
            CaptureError: contributions were not computed.
        """
        if self.record.attribution is None:
            raise CaptureError(
                f"{self.record.site.name}: contributions of input tokens were not computed; ask "
                "for them before the model runs."
            )
        return single(self.record.attribution)

    def of(self, measure: str) -> Tensor:
        """The measure of that name, of `headlight.vocabulary`.

        Over the axes that its row names, for each text of the batch; a measure of pairs of
        positions that belongs to a whole layer has one row in the place of the heads.

        Raises:
            UnknownNameError: there is none.
            CaptureError: what it needs was not captured.
        """
        if measure not in _FUNCTIONS:
            raise UnknownNameError("measure", measure, _FUNCTIONS)
        return _FUNCTIONS[measure](self)

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

    @property
    def transformed(self) -> Float[Tensor, "batch head key head_dim"]:
        """f(x) in an orthonormal basis of the space of its head; see `Vectors`."""
        return self.vectors.transformed

    @property
    def rows(self) -> Float[Tensor, "batch head key head_dim"]:
        """The rows of T as `transformed` vectors, with the value bias or without it."""
        return self.vectors.rows

    @cached_property
    def null_spaces(self) -> NullSpaces:
        """Return the dimensions of attention that change nothing in the output.

        Raises:
            CaptureError: some queries have a T of their own, as a gate of them is zero.
        """
        if bool(self._own_spaces.any()):
            raise CaptureError(
                f"{self.record.site.name}: a gate is zero, or W^O has a lower rank than heads have "
                "dimensions, so the null space of T is another for each query; leave this layer "
                f"out, or load the model in a wider precision ({setting('dtype=')})."
            )
        spaces = self.vectors.spaces, self.vectors.spaces_with_ones
        rank = self.rank if "_effective" in vars(self) else None
        return null_spaces_of(*spaces, self.record.visible, first=self.record.first, rank=rank)

    @cached_property
    def _effective(self) -> Effective:
        record, own = self.record, self._own_spaces
        weight = record.weight if record.gate is None else self.weight
        result = self.vectors.spaces.effective(
            weight, record.visible, self._precision, record.first
        )
        if not bool(own.any()):
            return result
        value, gate = self.vectors.values[:, :, : weight.shape[3]], record.gate
        assert gate is not None  # noqa: S101 - without gates all queries share T
        projection = record.site.projection
        width = projection.weight.shape[2]
        attention, rank = effective_of_gated(
            weight, value, gate, projection.factor, width, record.visible, own
        )
        result.attention[own] = back_to(attention, weight.device).to(result.attention.dtype)
        ranks = result.rank.expand(weight.shape[:3]).clone()
        ranks[own] = rank.to(ranks)
        return replace(result, rank=ranks)

    @cached_property
    def _own_spaces(self) -> Bool[Tensor, "batch head query"]:
        """Queries with a T of their own, because of their gates."""
        gate = self.gate_of_components
        if gate is None:
            return torch.zeros(1, 1, 1, dtype=torch.bool)
        return of_their_own(gate, self.record.site.projection.factor)


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
"""Functions that compute each measure of the table in `headlight.vocabulary`."""


def register_measure(row: Measure, function: Callable[[Scores], Tensor]) -> None:
    """Add a measure of your own, which readings, studies, pages and options then have.

    Args:
        row: what it is called, what it needs, and how it is drawn.
        function: of the scores of a batch, a tensor over ``batch`` and the axes of the row; with an
            axis ``head`` of size 1 where a measure of pairs of positions has none.

    Raises:
        UsageError: there is a measure of that name.
    """
    add_measure(row)
    _FUNCTIONS[row.name] = function


def unregister_measure(name: str) -> None:
    """Take a measure out again.

    Raises:
        UnknownNameError: there is none of that name.
    """
    remove_measure(name)
    del _FUNCTIONS[name]
