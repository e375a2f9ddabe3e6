"""Parts of a sum: how much each makes up, by what is missed without it."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import LayerRecord, Residual
from headlight.errors import UnsupportedModelError
from headlight.measures.gated import gated_weight
from headlight.measures.norm import per_head
from headlight.measures.precision import single

CELLS = 1 << 22
"""Numbers of parts of heads that are formed at a time."""


@dataclass(frozen=True, eq=False)
class BlockSum:
    """The sum that leaves an attention block, and its parts, for one text.

    All are behind the norm that follows the sum, if one does, but for the number that this divides
    the sum by; the β of that norm is no part.

    Attributes:
        total: the sum, b^O included.
        given: the residual.
        bias: b^O.
        weight: α of each head; over what norms on the branch divide by.
        values: v(x) of each head.
        output: W^O of each head.
        offset: β of the norm, times the number that it divides by.
    """

    total: Float[Tensor, "query d_model"]
    given: Float[Tensor, "query d_model"]
    bias: Float[Tensor, "query d_model"]
    weight: Float[Tensor, "head query key"]
    values: Float[Tensor, "head key head_dim"]
    output: Float[Tensor, "head head_dim d_model"]
    offset: Float[Tensor, "query d_model"]

    @cached_property
    def vectors(self) -> Float[Tensor, "head key d_model"]:
        """f(x) of each head."""
        return self.values @ self.output

    @classmethod
    def of(cls, record: LayerRecord, residual: Residual) -> "BlockSum":
        """Return the sum of the first text of a record, float32 or better.

        Raises:
            UnsupportedModelError: f depends on the query.
        """
        if record.gate is not None and record.site.gate == "element":
            raise UnsupportedModelError(
                f"{record.site.name}: its gate has a number for each component, so that what a "
                "head takes from a token depends on the query, and there are no parts of tokens "
                "that all queries share."
            )
        projection, site = record.site.projection, residual.site
        weight = single(gated_weight(record.weight, record.gate))[0]
        output = single(projection.weight)
        values = single(per_head(record.value, len(output)))[0]
        written, given = single(residual.written)[0], single(residual.given)[0]
        bias = torch.zeros_like(written)
        if projection.bias is not None:
            bias = bias + single(projection.bias)
        for each in site.branch:
            scale = each.scale(written)
            weight = weight / scale[:, None]
            output = each.linear(output)
            bias = each.linear(bias) / scale[:, None] + each.offset.to(bias)
            written = each(written)
        total, offset = written + given, torch.zeros_like(written)
        if site.norm is not None:  # what it divides by is the same for all parts of a sum
            offset = site.norm.scale(total)[:, None] * site.norm.offset.to(total)
            total, given, bias, output = map(site.norm.linear, (total, given, bias, output))
        return cls(total, given, bias, weight, values, output, offset)


def missed_without(
    total: Float[Tensor, "*place d_model"], part: Float[Tensor, "*place d_model"]
) -> Float[Tensor, "*place"]:
    """max(0, ‖y‖₁ − ‖y − p‖₁), by which a sum y gets shorter without its part p.

    Args:
        total: y.
        part: p.

    Returns:
        ≥ 0, at most ‖p‖₁; in the unit of the hidden states.

    Source: Ferrando et al. (2022); Ferrando and Voita (2024).
    """
    return (total.abs() - (total - part).abs()).sum(-1).clamp_min(0)


def missed_without_heads(
    total: Float[Tensor, "query d_model"],
    weight: Float[Tensor, "head query key"],
    vectors: Float[Tensor, "head key d_model"],
) -> Float[Tensor, "head query key"]:
    """Compute what is missed without each part α f(x) that a head takes from a key.

    What keys with a weight of 0 give is not formed, so that of causal attention half is.

    Args:
        total: y of each query.
        weight: α.
        vectors: f(x), or what becomes of it in the sum.

    Returns:
        ≥ 0, in the unit of the hidden states.
    """
    heads, queries, keys = weight.shape
    found = weight.new_zeros(heads, queries, keys)
    sign, size = total.sign(), total.abs()
    for query in range(queries):
        seen = weight[:, query].any(0).nonzero()[:, 0]
        for chosen in torch.split(seen, max(1, CELLS // (heads * total.shape[1]))):
            # z sign y against |y|: the same distance, with one absolute value in place of two.
            part = vectors[:, chosen] * (weight[:, query, chosen, None] * sign[query])
            missed = size[query].sum() - (size[query] - part).abs().sum(-1)
            found[:, query, chosen] = missed.clamp_min(0)
    return found
