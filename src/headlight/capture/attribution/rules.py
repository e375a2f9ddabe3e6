"""Shorter ways to the same derivatives, for the functions that models spend their time in.

PyTorch differentiates every function here in forward mode by itself.  It goes through the values
several times more than it need, though: it adds biases that do not change, and evaluates slopes
once for every tangent.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class ShortRules(TorchFunctionMode):
    """Within the block, functions with a rule of their own are differentiated by it."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Apply the rule of `func`, if it has one and only its input changes."""
        options = kwargs or {}
        rule = RULES.get(func)
        if rule is None or not _only_input_changes(args, options, INPUT.get(func, 0)):
            return func(*args, **options)
        return rule(func, *args, **options)


def _only_input_changes(args: tuple[Any, ...], options: dict[str, Any], place: int) -> bool:
    if len(args) <= place:
        return False
    others = [*args[:place], *args[place + 1 :], *options.values()]
    return _changes(args[place]) and not any(map(_changes, others))


def _changes(value: Any) -> bool:
    return isinstance(value, Tensor) and _unpacked(value)[1] is not None


def _unpacked(value: Tensor) -> tuple[Tensor, Any]:
    """A value and its tangent, None where it has none."""
    unpacked: tuple[Tensor, Any] = forward_ad.unpack_dual(value)  # type: ignore[no-untyped-call]
    return unpacked


def _dual(value: Tensor, tangent: Tensor) -> Tensor:
    dual: Tensor = forward_ad.make_dual(value, tangent)  # type: ignore[no-untyped-call]
    return dual


def _linear(func: Callable[..., Tensor], given: Tensor, weight: Tensor, *bias: Any) -> Tensor:
    still, tangent = _unpacked(given)
    return _dual(func(still, weight, *bias), functional.linear(tangent, weight))


def _addmm(func: Callable[..., Tensor], bias: Tensor, given: Tensor, weight: Tensor) -> Tensor:
    still, tangent = _unpacked(given)
    return _dual(func(bias, still, weight), tangent @ weight)


def _elementwise(func: Callable[..., Tensor], given: Tensor, **options: Any) -> Tensor:
    """The slope is found once, by a tangent of ones."""
    still, tangent = _unpacked(given)
    value, slope = _unpacked(func(_dual(still, torch.ones_like(still)), **options))
    return _dual(value, tangent * slope)


def _layer_norm(
    func: Callable[..., Tensor],
    given: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Without its weight, the Jacobian is symmetric: backward is forward, and one kernel."""
    still, tangent = _unpacked(given)
    value, mean, scale = torch.native_layer_norm(still, shape, weight, bias, eps)
    moved = torch.ops.aten.native_layer_norm_backward(
        tangent, still, shape, mean, scale, None, None, [True, False, False]
    )[0]
    return _dual(value, moved if weight is None else moved * weight)


def _softmax(
    func: Callable[..., Tensor],
    given: Tensor,
    dim: int,
    _stacklevel: int = 3,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The Jacobian is symmetric, as that of the layer norm."""
    still, tangent = _unpacked(given)
    if dtype is not None:
        still, tangent = still.to(dtype), tangent.to(dtype)
    value = torch.softmax(still, dim)
    moved = torch.ops.aten._softmax_backward_data(tangent, value, dim, value.dtype)
    return _dual(value, moved)


RULES: dict[Callable[..., Any], Callable[..., Tensor]] = {
    functional.linear: _linear,
    torch.addmm: _addmm,
    functional.gelu: _elementwise,
    functional.silu: _elementwise,
    functional.relu: _elementwise,
    torch.tanh: _elementwise,
    functional.layer_norm: _layer_norm,
    functional.softmax: _softmax,
}
INPUT: dict[Callable[..., Any], int] = {torch.addmm: 1}
"""Which argument changes, where it is not the first."""
