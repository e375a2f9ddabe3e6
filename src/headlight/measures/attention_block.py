"""The output of an attention block as a sum of parts of tokens (Kobayashi et al. 2021).

The part of key j in the output of the attention block for query i is F_ij = Σ_h α_hij f_h(x_j)
behind the maps of the branch (mostly none), for j = i together with the residual x_i, and behind
the norm if one follows.  With the divisors of norms frozen, that is F_ij times a matrix that all
queries share, over a number of each query; so the matrix folds into W^O, and vectors of ``query key
d_model`` are never formed.  b^O and the β of norms belong to no key.

Source: Kobayashi et al. (2021).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import AttentionSite, FrozenMap, LayerRecord, Residual, ResidualSite
from headlight.capture.output_projection import on_double, overlap_of
from headlight.errors import CaptureError
from headlight.measures import norms as norms
from headlight.measures.vectors import per_head
from headlight.tensors import Factor, OutputWeight, Overlap, Weight

Pairs = Float[Tensor, "batch query key"]
Parts = Float[Tensor, "batch query d_model"]
PerQuery = Float[Tensor, "batch query"]


@dataclass(frozen=True, eq=False)
class FoldedOutput:
    """W^O times the matrix of the maps that follow it, and factors computed from it once.

    Attributes:
        weight: Product of the matrices, in float64.
        precision: Precision of the overlap: that of the model, float32 or better.
    """

    weight: OutputWeight
    precision: torch.dtype

    @cached_property
    def factor(self) -> Factor:
        """Return R_h of W_h = R_h Q_h, as that of a `Projection`."""
        factor: Tensor = torch.linalg.qr(self.weight.mT, mode="r")[1].mT
        return factor.contiguous()

    @cached_property
    def overlap(self) -> Overlap:
        """Return Q Qᵀ of all heads."""
        return overlap_of(self.weight).to(self.precision)


Maps = tuple[FrozenMap, ...]
"""Norms and scales, in the order in which a vector goes through them."""

# Weak, so that the matrices go with their model.
_folded: "WeakKeyDictionary[ResidualSite, dict[Maps, FoldedOutput]]" = WeakKeyDictionary()


def folded_output(site: AttentionSite, residual: ResidualSite, behind: Maps) -> FoldedOutput:
    """Return W^O with the maps of the branch, and with those behind the sum."""
    folded = _folded.setdefault(residual, {})
    if behind not in folded:
        weight = site.projection.weight
        exact = on_double(weight)
        for frozen_map in (*residual.branch, *behind):
            exact = frozen_map.linear(exact)
        folded[behind] = FoldedOutput(exact, torch.promote_types(weight.dtype, torch.float32))
    return folded[behind]


class WholeLayer:
    """Parts of the output of the attention block, for the queries of a record.

    Args:
        record: Record of the layer, with its residual.
        weight: Weights α, times the gate of each query and head where there is one.

    Raises:
        CaptureError: The record has no residual.
    """

    def __init__(self, record: LayerRecord, weight: Weight) -> None:
        if record.residual is None:
            raise CaptureError(
                f"{record.site.name}: what its output is added to was not captured; ask for the "
                "residual before the model runs."
            )
        self._record = record
        self._weight = weight
        self._residual = record.residual.to(weight.dtype)

    @property
    def site(self) -> ResidualSite:
        """Return the site that follows the attention."""
        return self._residual.site

    @property
    def residual(self) -> Residual:
        """Return the residual that the output is added to, float32 or better."""
        return self._residual

    @cached_property
    def self_parts(self) -> Parts | None:
        """Return F_ii, the part of each query itself through the heads; None in cross-attention."""
        record, weight = self._record, self._weight
        if record.site.kind == "cross":
            return None
        first, queries = record.first, weight.shape[2]
        alpha = weight.diagonal(first, 2, 3).transpose(1, 2)
        values = per_head(record.value[:, :, first : first + queries], weight.shape[1])
        scaled = alpha[..., None] * values.transpose(1, 2).to(alpha)
        if record.site.gate == "element" and record.gate is not None:
            scaled = scaled * record.gate.transpose(1, 2).to(alpha)
        return scaled.flatten(2) @ record.site.projection.weight.to(alpha).flatten(0, 1)

    @cached_property
    def all_parts(self) -> Parts:
        """Return Σ_j F_ij, the output of W^O without its bias."""
        written, bias = self._residual.written, self._record.site.projection.bias
        return written if bias is None else written - bias.to(written)

    def apply_branch(self, parts: Parts) -> Parts:
        """Return parts of the output of W^O as they are added to the residual."""
        for frozen_map in self.site.branch:
            parts = frozen_map.linear(parts)
        return parts / self._residual.branch_scale[..., None] if self.site.branch else parts

    def apply_norm(self, parts: Parts, second: FrozenMap | None = None) -> Parts:
        """Return parts of the sum behind the norm that follows it, if one does.

        Args:
            parts: Parts of the sum.
            second: Another norm behind that one; its divisor is left out.
        """
        for frozen_map in self.maps_behind_sum(second):
            parts = frozen_map.linear(parts)
        return parts / self.norm_scale[..., None]

    def maps_behind_sum(self, second: FrozenMap | None = None) -> Maps:
        """Return the norm that follows the sum, if one does, and a second one behind it."""
        return tuple(norm for norm in (self.site.norm, second) if norm is not None)

    @property
    def norm_scale(self) -> PerQuery:
        """Return the divisor of the norm behind the sum; 1 where there is none."""
        return self._residual.norm_scale

    @property
    def branch_scale(self) -> PerQuery:
        """Return the divisor of the maps of the branch."""
        return self._residual.branch_scale

    def with_self_parts(self, others: Pairs, behind: Callable[[Parts], Parts]) -> Pairs:
        """Return the norms of all pairs, with those of each token and itself, residual included.

        Args:
            others: Norms of the parts of other tokens.
            behind: Map of the parts of the sum.
        """
        self_parts = self.self_parts
        if self_parts is None:
            return others
        length = behind(self.apply_branch(self_parts) + self._residual.given).norm(dim=-1)
        norms = others.clone()
        norms.diagonal(self._record.first, 1, 2).copy_(length)
        return norms
