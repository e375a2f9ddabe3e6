"""One product of weights with values in a model's own code, as a call of the interface hook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from headlight.capture.custom_attention.layout import Context, Layout, Notation, Step, derive
from headlight.capture.output_projection import TOLERANCE
from headlight.tensors import Value, Weight

Call = tuple[Tensor, Tensor, Tensor, Tensor | None]
"""Arguments of an attention function: queries, keys, values and a mask."""

_KEPT_LAYOUTS = 512
_layouts: dict[Any, Layout] = {}


@dataclass(frozen=True, eq=False)
class WeightProduct:
    """Weights times values, where the model has made the weights by itself.

    Attributes:
        notation: Notation of the operands and of the result.
        result: Result of the product.
        weight: Weights that multiply the values.
        value: Values.
        again: Function that makes the product of other weights, as the model does it.
        hidden: Mask of the weights whose keys are not seen; None where that was lost.
        masked: Whether weights may have been set to zero after the softmax.
        before: Weights before dropout, where there was any.
    """

    notation: Notation
    result: Tensor
    weight: Tensor
    value: Tensor
    again: Callable[[Tensor], Tensor]
    hidden: Tensor | None
    masked: bool
    before: Tensor | None

    @property
    def dropped(self) -> bool:
        """Return whether some weights were dropped, as in training."""
        return self.before is not None

    def call(self, layout: Layout) -> Call:
        """Return the arguments of the attention function, with weights in the place of queries."""
        weight = layout.weight(self.weight if self.before is None else self.before)
        return weight, weight.mT, layout.value(self.value), self._visible(layout, weight)

    def _visible(self, layout: Layout, weight: Weight) -> Tensor | None:
        """Return the keys that each query sees: a key without weight may only be far from it."""
        if self.hidden is None:
            return (weight != 0).any(1, keepdim=True)
        visible = None
        if bool(self.hidden.any()):
            visible = ~layout.weight(self.hidden) | (weight != 0)
        if self.masked and bool((weight == 0).any()):
            weighted = (weight != 0).any(1, keepdim=True)
            visible = weighted if visible is None else visible & weighted
        return visible

    def attend(
        self, attention: "OwnAttention", query: Tensor, value: Value
    ) -> tuple[Context, Weight]:
        """Return the contexts of these weights, as the model makes them, and the weights."""
        whole = attention.arguments[0]
        if query.shape != whole.shape or value.shape[2] != whole.shape[3]:  # some queries alone
            part = query[..., : value.shape[2]]
            return context_of(part, value), part
        if query is whole and not (torch.is_grad_enabled() and query.requires_grad):
            return attention.context, query
        return self.context_of(attention, query), query

    def context_of(self, attention: "OwnAttention", weight: Weight) -> Context:
        """Return the contexts of other weights."""
        operand = attention.layout.weight_operand(weight, self.weight)
        if operand is None:  # the model has the same weights for all texts
            return context_of(weight, attention.arguments[2])
        return attention.layout.context(self.again(operand.to(self.weight.dtype)))


@dataclass(frozen=True, eq=False)
class FusedProduct:
    """Call of torch's fused attention: the weights are made where they are requested."""

    notation: Notation
    result: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    scale: float
    dropped: bool

    @classmethod
    def from_call(
        cls, result: Tensor, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> "FusedProduct":
        """Return the product of a call of `torch.nn.functional.scaled_dot_product_attention`."""
        call_arguments = {**dict(zip(_FUSED, arguments, strict=False)), **options}
        query, key, value = (call_arguments[name] for name in _FUSED[:3])
        mask, scale = call_arguments.get("attn_mask"), call_arguments.get("scale")
        if call_arguments.get("enable_gqa"):
            repeats = query.shape[-3] // key.shape[-3]
            key, value = (tensor.repeat_interleave(repeats, -3) for tensor in (key, value))
        if call_arguments.get("is_causal"):
            shape = (query.shape[-2], key.shape[-2])
            mask = torch.ones(shape, dtype=torch.bool, device=query.device).tril()
        notation = Notation.from_matmul(query, value)
        dropped = bool(call_arguments.get("dropout_p"))
        scale = scale or query.shape[-1] ** -0.5
        return cls(notation, result, query, key, value, mask, scale, dropped)

    def call(self, layout: Layout) -> Call:
        """Return queries, keys and values."""
        lead = self.notation.weight[:-2]
        query = layout.query(self.query, f"{lead}QE")
        key = layout.value(self.key, f"{self.notation.value[:-2]}KE")
        mask = self.mask
        if mask is not None:
            mask = layout.weight(mask, f"{lead}QK"[-mask.ndim :])
        return query, key, layout.value(self.value), mask

    def attend(
        self,
        attention: "OwnAttention",
        query: Tensor,
        value: Value,
        key: Tensor,
        mask: Tensor | None,
    ) -> tuple[Context, Weight]:
        """Return contexts and weights, computed step by step."""
        repeats = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(repeats, 1).mT * self.scale
        if mask is not None:
            hides = mask.dtype == torch.bool
            scores = scores.masked_fill(~mask, -torch.inf) if hides else scores + mask
        weight = scores.softmax(-1).nan_to_num(0.0)  # a query that sees nothing has NaN
        return context_of(weight, value), weight

    def context_of(self, attention: "OwnAttention", weight: Weight) -> Context:
        """Return the contexts of other weights."""
        return context_of(weight, attention.arguments[2])


_FUSED = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
"""Names of the arguments of torch's fused attention, in order."""

Product = WeightProduct | FusedProduct


@dataclass(frozen=True, eq=False)
class OwnAttention:
    """Product that has reached its projection, so that its axes have names.

    Attributes:
        product: Product of weights and values.
        layout: Layout of the product.
        given: Input of the projection.
        axes: Number of last axes of `given` that are features.
    """

    product: Product
    layout: Layout
    given: Tensor
    axes: int

    @classmethod
    def from_product(
        cls, product: Product, steps: Sequence[Step], tensor: Tensor, axes: int
    ) -> "OwnAttention":
        """Return the attention of a product that went through `steps`.

        Raises:
            NoLayoutError: the axes of the product cannot be told apart.
        """
        path = tuple((step.name, repr(step.plain)) for step in steps)
        key = product.notation, product.result.shape, path, tensor.shape, axes
        if key not in _layouts:
            # Each length of texts has layouts of its own, and a corpus has many lengths.
            if len(_layouts) >= _KEPT_LAYOUTS:
                _layouts.clear()
            _layouts[key] = derive(product.notation, product.result, steps, axes)
        return cls(product, _layouts[key], tensor, axes)

    @cached_property
    def arguments(self) -> Call:
        """Return the arguments of an attention function."""
        return self.product.call(self.layout)

    @property
    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of an attention function."""
        return {"own_attention": self, "scaling": getattr(self.product, "scale", None)}

    @cached_property
    def context(self) -> Context:
        """Return the contexts as the model itself has made them."""
        rows = self.layout.rows(self.given, self.axes)
        return rows.view(*rows.shape[:2], *self.layout.heads)

    def context_of(self, weight: Weight) -> Context:
        """Return the contexts of other weights, as the model would make them."""
        return self.product.context_of(self, weight)

    def misses(self) -> str | None:
        """Return how the projection's input misses weights times values, as a sentence's end."""
        if self.product.dropped:
            return None
        query, key, value, mask = self.arguments
        if isinstance(self.product, FusedProduct):
            context, weight = self.product.attend(self, query, value, key, mask)
        else:  # weights stand in the place of queries
            context, weight = context_of(query, value), query
        wanted, allowed = self.context.nan_to_num(0.0), TOLERANCE.get(context.dtype, 1e-1)
        # Contexts of padding that sees nothing may be anything.
        off = torch.linalg.vector_norm((context - self.context).nan_to_num(0.0))
        error = float(off / torch.linalg.vector_norm(wanted).clamp_min(1e-30))
        if not error <= allowed:
            return (
                f"weights times values miss what is projected by {error:.1e} of its norm (allowed "
                f"{allowed:.0e}), so it is changed before, and f(x) does not exist for it."
            )
        return rows_above_one(weight)


def rows_above_one(weight: Weight) -> str | None:
    """Return the fault of weights that exceed 1 for some query, as a sentence's end; else None."""
    largest = float(weight.sum(-1).nan_to_num(0.0).max())
    # Many models take the softmax in float32, even where weights are in float64.
    if largest <= 1 + max(TOLERANCE.get(weight.dtype, 1e-1), TOLERANCE[torch.float32]):
        return None
    return (
        f"the weights of a query add up to {largest:.2f}, so they are no distribution over keys; "
        "take the softmax over keys (the last axis of the scores)."
    )


def attend_eagerly(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Value,
    mask: Tensor | None = None,
    *,
    own_attention: OwnAttention,
    **options: Any,
) -> tuple[Context, Weight]:
    """Attend eagerly, as the function of modules with attention in code of their own."""
    if isinstance(own_attention.product, FusedProduct):
        return own_attention.product.attend(own_attention, query, value, key, mask)
    return own_attention.product.attend(own_attention, query, value)


def leave_alone(
    module: nn.Module, *arguments: Any, own_attention: OwnAttention, **options: Any
) -> tuple[Context, None]:
    """Return the contexts of such a module as it made them, where no weights are requested."""
    return own_attention.context, None


def gives_weights(options: Mapping[str, Any]) -> bool:
    """Return whether weights stand in the place of queries in a call of an attention function."""
    attention: OwnAttention | None = options.get("own_attention")
    return attention is not None and isinstance(attention.product, WeightProduct)


def context_with(weight: Weight, arguments: Sequence[Any], options: Mapping[str, Any]) -> Context:
    """Return the contexts of other weights, in a call of an attention function."""
    attention: OwnAttention | None = options.get("own_attention")
    return context_of(weight, arguments[2]) if attention is None else attention.context_of(weight)


def context_of(weight: Weight, value: Value) -> Context:
    """Return A V, as ``batch query head head_dim``; grouped heads share values."""
    repeats = weight.shape[1] // value.shape[1]
    repeated = value.repeat_interleave(repeats, dim=1) if repeats > 1 else value
    return (weight @ repeated).transpose(1, 2)
