"""Vectors f(x) of one layer, and quantities computed from them once for all its queries."""

from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.capture.finite_numbers import require_finite
from headlight.errors import CaptureError
from headlight.measures.attention_block import FoldedOutput
from headlight.measures.effective import RowSpaces
from headlight.measures.merged_norms import HeadsTogether, heads_together
from headlight.measures.null_space import with_ones
from headlight.measures.numerical_rank import ONE_PASS
from headlight.measures.vectors import compressed
from headlight.tensors import Value, back_to, double
from headlight.vocabulary import ValueBias


class Vectors:
    """Vectors of one layer; each number is computed once, when requested.

    Args:
        record: Record of the layer, or of some of its queries.
        value_bias: Whether the rows of T hold the value bias; see `Scores`.
    """

    def __init__(self, record: LayerRecord, value_bias: ValueBias = "include") -> None:
        self._site = record.site
        self._value_bias = value_bias
        self._value = record.value if record.block is None else record.block.value
        self._real = record.real
        self._together: HeadsTogether | None = None
        self._behind: dict[FoldedOutput, HeadsTogether] = {}

    @cached_property
    def transformed(self) -> Float[Tensor, "batch head key head_dim"]:
        """Return f(x) in an orthonormal basis of the space of its head, float64.

        Lengths and inner products are those of f(x).  On the CPU where the device has no float64.
        """
        return compressed(self._value, self._site.projection.factor)

    @cached_property
    def norm(self) -> Float[Tensor, "batch head key"]:
        """Return ‖f(x)‖, float64.

        Raises:
            NotFiniteError: See `_require_finite_sum`.
        """
        return self._require_finite_sum(self._length)

    @cached_property
    def _length(self) -> Float[Tensor, "batch head key"]:
        length: Tensor = self.transformed.norm(dim=-1)
        return length

    @cached_property
    def rows(self) -> Float[Tensor, "batch head key head_dim"]:
        """Return the rows of T as `transformed` vectors, with the value bias or without it.

        Raises:
            CaptureError: The value bias is not known.
        """
        if self._value_bias == "include":
            return self.transformed
        return compressed(self.values, self._site.projection.factor)

    @property
    def values(self) -> Value:
        """Return the values from which the rows of T are computed.

        Raises:
            CaptureError: The value bias is not known.
        """
        return self._value if self._value_bias == "include" else self._subtract_bias()

    @cached_property
    def spaces(self) -> RowSpaces:
        """Return the spaces that the rows of T span."""
        width = self._site.projection.weight.shape[2]
        return RowSpaces(self.rows, width, self._real, self._shared)

    @cached_property
    def spaces_with_ones(self) -> RowSpaces:
        """Return the spaces that the rows of [T, 1] span."""
        width = self._site.projection.weight.shape[2] + 1
        shared = None if self._shared is None else with_ones(self._shared)
        return RowSpaces(with_ones(self.rows), width, self._real, shared)

    @cached_property
    def _shared(self) -> Float[Tensor, "batch kv_head key head_dim"] | None:
        """Return the values in float64, if several heads share them and T has their column space.

        T = V R; where both are far from singular, the numerical rank of T is full as well.
        """
        values, projection = self.values, self._site.projection
        # Not `>=`: a condition that is not a number must not pass.
        if values.shape[1] == projection.heads or not projection.condition < ONE_PASS:
            return None
        return double(values)

    def together(self, dtype: torch.dtype, *, compiled: bool) -> HeadsTogether:
        """Return the inner products of the vectors of all heads, for the merged norms."""
        if self._together is None:
            overlap = self._site.projection.overlap
            device = self._value.device
            self._together = heads_together(
                self.transformed, self._length, overlap, dtype, device, compiled=compiled
            )
        return self._together

    def behind(self, folded: FoldedOutput, dtype: torch.dtype, *, compiled: bool) -> HeadsTogether:
        """Return the terms of the merged norms behind the maps that follow W^O.

        Raises:
            NotFiniteError: See `_require_finite_sum`.
        """
        if folded not in self._behind:
            device = self._value.device
            rows = compressed(self._value, folded.factor)
            length = rows.norm(dim=-1)
            self._require_finite_sum(length)
            self._behind[folded] = heads_together(
                rows, length, folded.overlap, dtype, device, compiled=compiled
            )
        return self._behind[folded]

    def _require_finite_sum(self, lengths: Float[Tensor, "batch head key"]) -> Tensor:
        """Return the lengths of vectors on the device of the values.

        Raises:
            NotFiniteError: The sum over all heads and queries, which statistics take, overflows.
        """
        added = (lengths.nansum((1, 2)) * lengths.shape[2]).to(
            torch.promote_types(self._value.dtype, torch.float32)
        )
        site = self._site
        require_finite(f"the sum of ‖f(x)‖ in {site.kind} layer {site.layer}", added)
        return back_to(lengths, self._value.device)

    def _subtract_bias(self) -> Value:
        value, site = self._value, self._site
        if site.value_bias is None:
            raise CaptureError(
                f"{site.name}: its value bias was not found, so it cannot be excluded."
            )
        return double(value) - double(site.value_bias)[:, None]
