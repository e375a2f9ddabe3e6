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
from torch.utils._pytree import tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from headlight.capture.attribution.token_maps import TokenMaps, WideMove, move_tokens


class ShortRules(TorchFunctionMode):
    """Within the block, functions with a rule of their own are differentiated by it.

    Args:
        maps: of the text, for its feed-forward layers; without them these are gone through one
            function after the other.
    """

    def __init__(self, maps: TokenMaps | None = None) -> None:
        super().__init__()
        self._maps = maps
        self._wide = WeakTensorKeyDictionary()
        self._known = WeakTensorKeyDictionary()
        if maps:
            maps.begin()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Apply the rule of `func`, if it has one and only its input changes."""
        options = kwargs or {}
        if self._wide:
            found = self._of_wide(func, args, options)
            if found is not None:
                return found
            args, options = tree_map(self._settled, (args, options))
        rule = RULES.get(func)
        if rule is None or not _only_input_changes(args, options, INPUT.get(func, 0)):
            return func(*args, **options)
        if self._maps and func is functional.linear and self._maps.pay(args[1]):
            still = func(_unpacked(args[0])[0], *args[1:], **options)
            return self._later(still, WideMove(args[0], ((args[1], None),)))
        return rule(func, *args, **options)

    def _later(self, still: Tensor, move: WideMove) -> Tensor:
        """A value whose tangent is computed only if a function asks for it that has no short way.

        Until then it is NaN, so that what would come by without asking is found out.
        """
        value = _dual(still, torch.full((), torch.nan).to(still).expand_as(still))
        self._wide[value] = move
        return value

    def _move(self, value: Any) -> WideMove | None:
        if not isinstance(value, Tensor):
            return None
        move: WideMove | None = self._wide.get(value)  # type: ignore[no-untyped-call]
        return move

    def _settled(self, value: Any) -> Any:
        """The value with its tangent, if that is still to be computed."""
        move = self._move(value)
        if move is None:
            return value
        if value not in self._known:
            tangent = move.tangent(_unpacked(move.given)[1])
            self._known[value] = _dual(_unpacked(value)[0], tangent)
        return self._known[value]

    def _of_wide(
        self, func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Tensor | None:
        """What functions of an inner layer give of which no tangent is needed; else None."""
        move = self._move(args[0]) if args else None
        if move is None:
            return None
        still = _unpacked(args[0])[0]
        if func is functional.dropout and options.get("training") is False:
            return self._later(still, move)
        if RULES.get(func) is _elementwise and len(args) == 1:
            value, slope = _with_slope(func, still, options)
            return self._later(value, move.scaled(slope))
        if func in PRODUCTS and len(args) == 2 and not options:
            other, by = self._move(args[1]), args[1]
            if other and other.given is move.given:
                by = _unpacked(by)[0]
                return self._later(still * by, move.scaled(by) + other.scaled(still))
        if func is functional.linear and move.bends and not any(map(_changes, args[1:])):
            assert self._maps is not None  # noqa: S101 - else nothing would be computed later
            maps = self._maps.of(lambda: move.maps(args[1]))
            moved = move_tokens(_unpacked(move.given)[1], maps)
            return _dual(func(still, *args[1:], **options), moved)
        return None


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
    still, tangent = _unpacked(given)
    value, slope = _with_slope(func, still, options)
    return _dual(value, tangent * slope)


def _with_slope(
    func: Callable[..., Tensor], still: Tensor, options: dict[str, Any]
) -> tuple[Tensor, Tensor]:
    """A function of single numbers, and its slope, which a tangent of ones finds once for all."""
    value, slope = _unpacked(func(_dual(still, torch.ones_like(still)), **options))
    return value, slope


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
PRODUCTS = {torch.mul, torch.Tensor.mul, torch.Tensor.__mul__}
"""Of two tensors, element by element."""
INPUT: dict[Callable[..., Any], int] = {torch.addmm: 1}
"""Which argument changes, where it is not the first."""
