"""Residual connection around an attention block, and the norm behind it."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.frozen_norms import FrozenMap
from headlight.capture.hooks import Place
from headlight.errors import UnsupportedModelError


@dataclass(frozen=True, eq=False)
class FeedForwardSite:
    """Sum behind an attention block: in most models that of the feed-forward network.

    Attributes:
        sum: Place where the sum can be seen: what left the attention block, plus this.
        norm: Norm that follows the sum, and alone reads it: that of a post-LN layer; in the last
            layer of a pre-LN model the norm before its head.
    """

    sum: Place | None
    norm: FrozenMap | None


@dataclass(frozen=True, eq=False)
class ResidualSite:
    """Site where the output of one attention module enters the residual stream.

    sum = branch(W^O output) + residual, and norm(sum) goes on where a norm follows.  With the
    divisors of norms frozen, that is linear in the vectors α f(x), b^O and the residual.

    Attributes:
        branch: Maps between W^O and the sum, in order: norms (Gemma 2, OLMo 2) or scales (DINOv2).
        residual: Place where the addend of the output can be seen, before W^O has run.
        norm: Norm that follows the sum, and alone reads it (post-LN); None where the sum goes on as
            it is (pre-LN), or where the feed-forward is added to the same sum.
        parallel: Whether the feed-forward reads what the attention reads, and adds to the same sum.
        output: Place where the output of the attention block can be seen: the sum, or the norm of
            it; None where no module shows it.
        feed_forward: Sum that is made next; None where that is another attention's, or `parallel`.
        error: Distance of the sum of the parts from the output of the block, relative to the norm
            of the output, in the traced pass.
    """

    branch: tuple[FrozenMap, ...]
    residual: Place
    norm: FrozenMap | None
    parallel: bool
    output: Place | None
    feed_forward: FeedForwardSite | None
    error: float


@dataclass(frozen=True, eq=False)
class NoResidualSite:
    """Reason why nothing is known of what follows an attention module.

    Attributes:
        problem: Reason, as a sentence.
    """

    problem: str


def followed(site: ResidualSite | NoResidualSite) -> ResidualSite:
    """Return the site, if its layer could be followed.

    Raises:
        UnsupportedModelError: the layer could not be followed.
    """
    if isinstance(site, NoResidualSite):
        raise UnsupportedModelError(site.problem)
    return site


@dataclass(frozen=True, eq=False)
class Residual:
    """Tensors of one batch at the residual sum behind one attention module.

    Attributes:
        site: Site of the sum.
        given: Vector x of each query, to which the output of the attention is added.
        written: Output of W^O, b^O included.
    """

    site: ResidualSite
    given: Float[Tensor, "batch query d_model"]
    written: Float[Tensor, "batch query d_model"]

    def to(self, form: torch.device | torch.dtype) -> "Residual":
        """Return the tensors on another device, or in another precision."""
        return replace(self, given=self.given.to(form), written=self.written.to(form))

    @cached_property
    def branch_output(self) -> Float[Tensor, "batch query d_model"]:
        """Return the addition to the residual: `written`, behind the maps of the branch."""
        written = self.written
        for frozen_map in self.site.branch:
            written = frozen_map(written)
        return written

    @cached_property
    def branch_scale(self) -> Float[Tensor, "batch query"]:
        """Return the divisor of the parts of the output on the branch."""
        written, product = self.written, self.written.new_ones(self.written.shape[:-1])
        for frozen_map in self.site.branch:
            product = product * frozen_map.scale(written)
            written = frozen_map(written)
        return product

    @property
    def total(self) -> Float[Tensor, "batch query d_model"]:
        """Return the sum with the residual, without a feed-forward that is added to it as well."""
        return self.branch_output + self.given

    @cached_property
    def norm_scale(self) -> Float[Tensor, "batch query"]:
        """Return the divisor of the norm behind the sum; 1 where there is none."""
        norm = self.site.norm
        return (
            self.given.new_ones(self.given.shape[:-1]) if norm is None else norm.scale(self.total)
        )

    @property
    def output(self) -> Float[Tensor, "batch query d_model"]:
        """Return the output of the attention block."""
        norm = self.site.norm
        return self.total if norm is None else norm(self.total)

    def detached(self) -> "Residual":
        """Return the tensors without a graph."""
        return replace(self, given=self.given.detach(), written=self.written.detach())
