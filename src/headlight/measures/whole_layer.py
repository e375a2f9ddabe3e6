"""Measures of a whole attention block, its residual connection and norm.

Contribution of a token to another behind the residual connection, and behind the next norm.
The part of key j in what leaves the attention block for query i is F_ij = Σ_h α_hij f_h(x_j) behind
what stands on the branch (mostly nothing), for j = i together with the residual x_i, and behind the
norm if one follows.  With what norms divide by frozen, that is F_ij times a matrix that all queries
share, over a number of each query; so the matrix folds into W^O, and vectors of ``query key
d_model`` are never formed.  b^O and the β of norms belong to no key.

Source: Kobayashi et al. (2021).

Mixing ratio of a layer: how much of its output for a token comes from other tokens.
Kobayashi et al. (2021); with the feed-forward network Kobayashi et al. (2024).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import AttentionSite, FrozenMap, LayerRecord, Residual, ResidualSite
from headlight.capture.backward import require_finite
from headlight.capture.record import on_double, overlap_of
from headlight.errors import CaptureError
from headlight.measures import norm as norms
from headlight.measures.effective import RowSpaces, real_keys, with_ones
from headlight.measures.norm import gated_weight, per_head
from headlight.measures.row_space import ONE_PASS
from headlight.tensors import Factor, OutputWeight, Overlap, Value, Weight, back_to, double
from headlight.vocabulary import ValueBias

Pairs = Float[Tensor, "batch query key"]
Parts = Float[Tensor, "batch query d_model"]
OfQueries = Float[Tensor, "batch query"]


@dataclass(frozen=True, eq=False)
class FoldedOutput:
    """W^O times the matrix of what follows it, and what is derived of it once.

    Attributes:
        weight: float64.
        precision: of the overlap: that of the model, float32 or better.
    """

    weight: OutputWeight
    precision: torch.dtype

    @cached_property
    def factor(self) -> Factor:
        """R_h of W_h = R_h Q_h, as that of a `Projection`."""
        factor: Tensor = torch.linalg.qr(self.weight.mT, mode="r")[1].mT
        return factor.contiguous()

    @cached_property
    def overlap(self) -> Overlap:
        """Q Qᵀ of all heads."""
        return overlap_of(self.weight).to(self.precision)


Maps = tuple[FrozenMap, ...]
"""Norms and scales, in the order in which a vector goes through them."""

_folded: "WeakKeyDictionary[ResidualSite, dict[Maps, FoldedOutput]]" = WeakKeyDictionary()


def folded_output(site: AttentionSite, residual: ResidualSite, behind: Maps) -> FoldedOutput:
    """W^O with the maps of the branch, and with those behind the sum."""
    folded = _folded.setdefault(residual, {})
    if behind not in folded:
        weight = site.projection.weight
        exact = on_double(weight)
        for each in (*residual.branch, *behind):
            exact = each.linear(exact)
        folded[behind] = FoldedOutput(exact, torch.promote_types(weight.dtype, torch.float32))
    return folded[behind]


class WholeLayer:
    """The parts of what leaves the attention block, for the queries of a record.

    Args:
        record: that holds the residual.
        weight: α, times the gate of each query and head where there is one.

    Raises:
        CaptureError: it does not.
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
    def own(self) -> Parts | None:
        """F_ii: what each query gives to itself through the heads; None in cross-attention."""
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
    def of_all(self) -> Parts:
        """Σ_j F_ij: what W^O put out, without its bias."""
        written, bias = self._residual.written, self._record.site.projection.bias
        return written if bias is None else written - bias.to(written)

    def behind_branch(self, parts: Parts) -> Parts:
        """Parts of the output of W^O, as they are added to the residual."""
        for each in self.site.branch:
            parts = each.linear(parts)
        return parts / self._residual.branch_scale[..., None] if self.site.branch else parts

    def behind_norm(self, parts: Parts, second: FrozenMap | None = None) -> Parts:
        """Parts of the sum behind the norm that follows it, if one does.

        Args:
            parts: of the sum.
            second: a norm behind that norm; what it divides by is left out.
        """
        for each in self.behind_sum(second):
            parts = each.linear(parts)
        return parts / self.norm_scale[..., None]

    def behind_sum(self, second: FrozenMap | None = None) -> Maps:
        """The norm that follows the sum, if one does, and a second one behind it."""
        return tuple(each for each in (self.site.norm, second) if each is not None)

    @property
    def norm_scale(self) -> OfQueries:
        """Return the divisor of the norm behind the sum; 1 where there is none."""
        return self._residual.norm_scale

    @property
    def branch_scale(self) -> OfQueries:
        """Return the divisor of the maps of the branch."""
        return self._residual.branch_scale

    def with_own(self, others: Pairs, behind: Callable[[Parts], Parts]) -> Pairs:
        """Norms of all pairs, with those of each token and itself, residual included.

        Args:
            others: of the parts of other tokens.
            behind: what becomes of parts of the sum.
        """
        own = self.own
        if own is None:
            return others
        length = behind(self.behind_branch(own) + self._residual.given).norm(dim=-1)
        norms = others.clone()
        norms.diagonal(self._record.first, 1, 2).copy_(length)
        return norms


class Vectors:
    """The vectors of one layer; each number is computed once, when asked for.

    Args:
        record: of the layer, or of some of its queries.
        value_bias: whether the rows of T hold the value bias; see `Scores`.
    """

    def __init__(self, record: LayerRecord, value_bias: ValueBias = "include") -> None:
        self._site = record.site
        self._value_bias = value_bias
        self._value = record.value if record.block is None else record.block.value
        self._real = _real_keys(record)
        self._together: norms.HeadsTogether | None = None
        self._behind: dict[FoldedOutput, norms.HeadsTogether] = {}

    @cached_property
    def transformed(self) -> Float[Tensor, "batch head key head_dim"]:
        """f(x) in an orthonormal basis of the space of its head: lengths and products, float64.

        On the CPU where the device has no float64.
        """
        return norms.compressed(self._value, self._site.projection.factor)

    @cached_property
    def norm(self) -> Float[Tensor, "batch head key"]:
        """‖f(x)‖, float64.

        Raises:
            NotFiniteError: see `_checked`.
        """
        return self._checked(self._length)

    @cached_property
    def _length(self) -> Float[Tensor, "batch head key"]:
        length: Tensor = self.transformed.norm(dim=-1)
        return length

    @cached_property
    def rows(self) -> Float[Tensor, "batch head key head_dim"]:
        """The rows of T as `transformed` vectors, with the value bias or without it.

        Raises:
            CaptureError: the value bias is not known.
        """
        if self._value_bias == "include":
            return self.transformed
        return norms.compressed(self.values, self._site.projection.factor)

    @property
    def values(self) -> Value:
        """The values that the rows of T are made from.

        Raises:
            CaptureError: the value bias is not known.
        """
        return self._value if self._value_bias == "include" else self._without_bias()

    @cached_property
    def spaces(self) -> RowSpaces:
        """The spaces that the rows of T span."""
        width = self._site.projection.weight.shape[2]
        return RowSpaces(self.rows, width, self._real, self._shared)

    @cached_property
    def spaces_with_ones(self) -> RowSpaces:
        """The spaces that the rows of [T, 1] span."""
        width = self._site.projection.weight.shape[2] + 1
        shared = None if self._shared is None else with_ones(self._shared)
        return RowSpaces(with_ones(self.rows), width, self._real, shared)

    @cached_property
    def _shared(self) -> Float[Tensor, "batch kv_head key head_dim"] | None:
        """The values in float64, if several heads share them and T has their column space.

        T = V R; where both are far from singular, the numerical rank of T is full as well.
        """
        values, projection = self.values, self._site.projection
        if values.shape[1] == projection.heads or not projection.condition < ONE_PASS:
            return None
        return double(values)

    def together(self, dtype: torch.dtype, *, compiled: bool) -> norms.HeadsTogether:
        """The inner products of the vectors of all heads, for the merged norms."""
        if self._together is None:
            overlap = self._site.projection.overlap
            device = self._value.device
            self._together = norms.heads_together(
                self.transformed, self._length, overlap, dtype, device, compiled=compiled
            )
        return self._together

    def behind(
        self, folded: FoldedOutput, dtype: torch.dtype, *, compiled: bool
    ) -> norms.HeadsTogether:
        """Return the terms of the merged norms behind the maps that follow W^O.

        Raises:
            NotFiniteError: see `_checked`.
        """
        if folded not in self._behind:
            device = self._value.device
            rows = norms.compressed(self._value, folded.factor)
            length = rows.norm(dim=-1)
            self._checked(length)
            self._behind[folded] = norms.heads_together(
                rows, length, folded.overlap, dtype, device, compiled=compiled
            )
        return self._behind[folded]

    def _checked(self, lengths: Float[Tensor, "batch head key"]) -> Tensor:
        """Return the lengths of vectors where the values lie.

        Raises:
            NotFiniteError: statistics add up what all heads give all queries, and that overflows.
        """
        added = (lengths.nansum((1, 2)) * lengths.shape[2]).to(
            torch.promote_types(self._value.dtype, torch.float32)
        )
        site = self._site
        require_finite(f"the sum of ‖f(x)‖ in {site.kind} layer {site.layer}", added)
        return back_to(lengths, self._value.device)

    def _without_bias(self) -> Value:
        value, site = self._value, self._site
        if site.value_bias is None:
            raise CaptureError(
                f"{site.name}: its value bias was not found, so it cannot be excluded."
            )
        return double(value) - double(site.value_bias)[:, None]


def _real_keys(record: LayerRecord) -> Bool[Tensor, "batch key"] | None:
    """Return the keys that the text's last query sees, if there are as many queries as keys."""
    block, visible = record.block, record.visible
    if block is not None:
        return block.real if block.queries == block.value.shape[2] else None
    return real_keys(visible)


SCOPES = ("weight", "norm", "weight_residual", "norm_residual", "norm_residual_norm")
"""By attention weights (ATTN-W) and norms (ATTN-N); with the residual connection (ATTNRES-W,
ATTNRES-N); with the norm behind it as well (ATTNRESLN-N)."""


BEHIND_FEED_FORWARD = ("feed_forward_residual", "feed_forward_residual_norm")
"""As the last of `SCOPES`, and behind the feed-forward network and the residual connection around
it; and behind the norm that follows this."""


def mixing_ratios(record: LayerRecord) -> Float[Tensor, "scope batch query"]:
    """r_i = ‖what others give‖ / (‖what others give‖ + ‖what the token gives itself‖).

    By each of `SCOPES`.  By norms, the part of the others is Σ_{j≠i} F_ij as one vector, which is
    what W^O put out, without b^O and without the own part, so that no pairs of positions are looked
    at.  By weights, it is Σ_{j≠i} of the mean over heads, and the residual counts as much as all
    attention.  Where no norm follows the sum, the last scope is the one before it.  NaN where a
    token gives nothing and gets nothing.

    Args:
        record: of self-attention, with its residual.

    Returns:
        Between 0 and 1; float32 or better.

    Raises:
        CaptureError: the residual was not captured.

    Source: Kobayashi et al. (2021).
    """
    weight = gated_weight(record.weight, record.gate)
    layer = WholeLayer(record, weight)
    own = layer.own
    assert own is not None  # noqa: S101 - self-attention
    others = layer.of_all - own
    added, own_part = layer.behind_branch(others), layer.behind_branch(own) + layer.residual.given
    mean = weight.mean(1)
    diagonal = mean.diagonal(record.first, 1, 2)
    rest = mean.sum(-1) - diagonal
    return torch.stack(
        [
            _ratio(rest, diagonal),
            _ratio(_length(others), _length(own)),
            _ratio(rest, diagonal + mean.sum(-1)),
            _ratio(_length(added), _length(own_part)),
            _ratio(_length(layer.behind_norm(added)), _length(layer.behind_norm(own_part))),
        ]
    )


def parts_of_block(
    record: LayerRecord,
) -> tuple[Float[Tensor, "batch query d_model"], Float[Tensor, "batch query d_model"]]:
    """Return what others, and the token itself, give to the output of the attention block.

    Args:
        record: of self-attention, with its residual.

    Raises:
        CaptureError: the residual was not captured.
    """
    layer = WholeLayer(record, gated_weight(record.weight, record.gate))
    own = layer.own
    assert own is not None  # noqa: S101 - self-attention
    added, own_part = layer.behind_branch(layer.of_all - own), layer.behind_branch(own)
    return layer.behind_norm(added), layer.behind_norm(own_part + layer.residual.given)


def ratios_behind_feed_forward(
    others: Float[Tensor, "batch query d_model"],
    own: Float[Tensor, "batch query d_model"],
    norm: FrozenMap | None,
) -> Float[Tensor, "scope batch query"]:
    """r_i by `BEHIND_FEED_FORWARD`; what the norm divides by is the same for both parts.

    Args:
        others: what others give, in the sum behind the feed-forward network.
        own: what the token gives itself.
        norm: that follows the sum; where there is none both scopes are the same.

    Source: Kobayashi et al. (2024).
    """
    behind = (others, own) if norm is None else (norm.linear(others), norm.linear(own))
    return torch.stack(
        [_ratio(_length(others), _length(own)), _ratio(_length(behind[0]), _length(behind[1]))]
    )


def _length(vectors: Tensor) -> Tensor:
    length: Tensor = vectors.norm(dim=-1)
    return length


def _ratio(others: Tensor, own: Tensor) -> Tensor:
    return others / (others + own)
