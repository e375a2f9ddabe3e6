"""Rules of exact attribution, module by module.

Shorter ways to the same derivatives, for the functions that models spend their time in.
PyTorch differentiates every function here in forward mode by itself.  It goes through the values
several times more than it need, though: it adds biases that do not change, and evaluates slopes
once for every tangent.

Feed-forward layers as one matrix for each token, which all changes of a text share.
A text stays what it is however its tokens are changed, and so the derivative of
W₂ f(W₁ x_j + b₁) + b₂ by x_j is one matrix W₂ diag(f′) W₁ for each token j.  It is computed once,
and serves some thousand changes, each of which takes d² products with it in place of the 2 d · 4 d
of the two linear maps; nothing as wide as the inner layer is moved any more.  Gates too: the
derivative of f(W₁ x) ∘ W₃ x is diag(f′ ∘ W₃ x) W₁ + diag(f) W₃.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from torch.utils.weak import WeakTensorKeyDictionary

Maps = Float[Tensor, "token d_in d_out"]


@dataclass(frozen=True)
class WideMove:
    """Tangent of an inner layer by its input: Σ_k diag(slope_k) weight_k, not multiplied yet.

    Attributes:
        given: The input, with its tangent.
        terms: Weights ``[wide, d_in]``, and slopes ``[*tokens, wide]``.
        bent: Whether there is a function between the linear maps; else others may read them too.
    """

    given: Tensor
    terms: tuple[tuple[Tensor, Tensor], ...]
    bent: bool = False

    def scaled(self, by: Tensor) -> "WideMove":
        """Return the tangent behind an elementwise function with these slopes."""
        terms = tuple((weight, slope.reshape(by.shape) * by) for weight, slope in self.terms)
        return replace(self, terms=terms, bent=True)

    def __add__(self, other: "WideMove") -> "WideMove":
        """Return the tangent of a sum of values with the same input; a weight stands in it once."""
        slopes = {id(weight): (weight, slope) for weight, slope in self.terms}
        for weight, slope in other.terms:
            other_term = slopes.get(id(weight))
            slopes[id(weight)] = weight, slope if other_term is None else other_term[1] + slope
        return replace(self, terms=tuple(slopes.values()))

    def tangent(self, of_given: Tensor, shape: torch.Size) -> Tensor:
        """The move of the inner layer itself, where it is asked for after all; in this shape."""
        moves = (
            functional.linear(of_given, weight).reshape(shape) * slope.reshape(shape)
            for weight, slope in self.terms
        )
        return reduce(torch.add, moves)

    def maps(self, weight: Float[Tensor, "d_out wide"]) -> Maps:
        """The matrices of all tokens, from the input to this weight times the inner layer."""
        # Some libraries copy what is transposed in each product; so it is done once for all.
        outwards = weight.mT.contiguous()
        inwards = [inner.mT.contiguous() for inner, _ in self.terms]
        slopes = [slope.flatten(0, -2) for _, slope in self.terms]
        products = weight.new_empty(len(slopes[0]), inwards[0].shape[0], outwards.shape[1])
        for token, each in enumerate(products):  # what is as wide as the inner layer, one at a time
            parts = (w * s[token] for w, s in zip(inwards, slopes, strict=True))
            torch.mm(reduce(torch.add, parts), outwards, out=each)
        return products


@dataclass
class TokenMaps:
    """The matrices of a text, in the order in which the model comes to them, kept between passes.

    Attributes:
        changes: How many changes of the text there will be.
    """

    changes: int
    _kept: list[Maps] = field(default_factory=list)
    _place: int = 0

    def begin(self) -> None:
        """The model runs once more."""
        self._place = 0

    def pay(self, weight: Float[Tensor, "wide d_in"]) -> bool:
        """Whether the matrices take fewer products than the changes, one by one."""
        wide, size = weight.shape
        return wide > size and self.changes * (2 * wide - size) > wide * size

    def of(self, make: Callable[[], Maps]) -> Maps:
        """The next ones, which are made in the first pass."""
        if self._place == len(self._kept):
            self._kept.append(make())
        self._place += 1
        return self._kept[self._place - 1]


def move_tokens(moves: Float[Tensor, "*tokens d_in"], maps: Maps) -> Float[Tensor, "*tokens d_out"]:
    """Each token by its own matrix; under `torch.vmap` too, without a copy of the matrices."""
    flat = moves.reshape(len(maps), maps.shape[1])
    moved: Tensor = _move_tokens(flat, maps)
    return moved.reshape(*moves.shape[:-1], maps.shape[2])


def _product(moves: Tensor, maps: Tensor) -> Tensor:
    return torch.bmm(moves.unsqueeze(1), maps).squeeze(1)


def _many_products(
    _: Any, where: tuple[int | None, ...], moves: Tensor, maps: Tensor
) -> tuple[Tensor, int]:
    """Multiply many moves at once: one product of matrices for each token."""
    assert where[0] is not None and where[1] is None  # noqa: S101, PT018 - moves alone are many
    products = torch.bmm(moves.movedim(where[0], 1), maps)
    return products.transpose(0, 1).contiguous(), 0  # as everything around it lies in memory


_move_tokens = torch.library.custom_op(
    "headlight::move_tokens",
    _product,
    mutates_args=(),
    schema="(Tensor moves, Tensor maps) -> Tensor",
)
_move_tokens.register_vmap(_many_products)


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
        if self._wide or self._known:
            if _writes(func, options):
                self._give_up(args)
            elif (result := self._of_wide(func, args, options)) is not None:
                return result
            args, options = tree_map(self._settled, (args, options))
        rule = RULES.get(func)
        if rule is None or not _only_input_changes(args, options, INPUT.get(func, 0)):
            return func(*args, **options)
        weight = _weight(func, args)
        if self._maps and weight is not None and self._maps.pay(weight):
            return self._inner_layer(func, args, options, weight)
        return rule(func, *args, **options)

    def _inner_layer(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        weight: Tensor,
    ) -> Tensor:
        """A linear map that makes tokens wider."""
        place = INPUT.get(func, 0)
        inner = args[place]
        still = func(*_with(args, place, _unpacked(inner)[0]), **options)
        return self._later(still, WideMove(inner, ((weight, torch.ones_like(still)),)))

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
        if not isinstance(value, Tensor):
            return value
        move = self._move(value)
        if move is not None and value not in self._known:
            tangent = move.tangent(_unpacked(move.given)[1], value.shape)
            self._known[value] = _dual(_unpacked(value)[0], tangent)
        return self._known.get(value, value)  # type: ignore[no-untyped-call]

    def _give_up(self, args: tuple[Any, ...]) -> None:
        """Compute the tangents of inner layers that are written into, for these and later uses."""
        for value in filter(self._move, args):
            self._settled(value)
            del self._wide[value]

    def _of_wide(
        self, func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Tensor | None:
        """Apply a function within an inner layer that needs no tangent; None for others."""
        if func in POINTWISE or RULES.get(func) is _elementwise:
            return self._pointwise(func, args, options)
        place = INPUT.get(func, 0)
        move = self._move(args[place]) if len(args) > place else None
        if move is None:
            return None
        still = _unpacked(args[place])[0]
        if func is functional.dropout and options.get("training") is False:
            return self._later(still, move)
        if func is torch.Tensor.view:
            viewed = func(still, *args[1:], **options)
            return self._later(viewed, move) if viewed.shape[-1] == still.shape[-1] else None
        others, weight = [*args[:place], *args[place + 1 :]], _weight(func, args)
        if weight is None or not move.bent or any(map(_changes, [*others, *options.values()])):
            return None
        assert self._maps is not None  # noqa: S101 - else nothing would be computed later
        maps = self._maps.of(lambda: move.maps(weight))
        value = func(*_with(args, place, still), **options)
        moved = move_tokens(_unpacked(move.given)[1], maps)
        return _dual(value, moved.reshape(value.shape))

    def _pointwise(
        self, func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Tensor | None:
        """A function of single numbers of layers of the same input: their slopes add up."""
        moves = {place: move for place, value in enumerate(args) if (move := self._move(value))}
        rest = [value for place, value in enumerate(args) if place not in moves]
        if not moves or any(map(_changes, [*rest, *options.values()])):
            return None
        stills = [_unpacked(value)[0] if at in moves else value for at, value in enumerate(args)]
        parts: list[WideMove] = []
        for place, move in moves.items():
            ones = _dual(stills[place], torch.ones_like(stills[place]))
            value, slope = _unpacked(func(*_with(stills, place, ones), **options))
            if value.shape != stills[place].shape or (parts and move.given is not parts[0].given):
                return None
            parts.append(move.scaled(slope))
        return self._later(value, reduce(WideMove.__add__, parts))


def _only_input_changes(args: tuple[Any, ...], options: dict[str, Any], place: int) -> bool:
    if len(args) <= place:
        return False
    others = [*args[:place], *args[place + 1 :], *options.values()]
    return _changes(args[place]) and not any(map(_changes, others))


def _changes(value: Any) -> bool:
    return isinstance(value, Tensor) and _unpacked(value)[1] is not None


def _with(args: Sequence[Any], place: int, value: Any) -> tuple[Any, ...]:
    """The arguments with another one at this place."""
    return (*args[:place], value, *args[place + 1 :])


def _writes(func: Callable[..., Any], options: dict[str, Any]) -> bool:
    """Whether a function may write into what it is given."""
    name = getattr(func, "__name__", "")
    named = name == "__setitem__" or name.startswith("__i") or name.rstrip("_") + "_" == name
    return named or bool(options.get("inplace")) or options.get("out") is not None


def _weight(func: Callable[..., Any], args: tuple[Any, ...]) -> Tensor | None:
    """The weight ``[out, in]`` of a linear map; None for other functions."""
    weight: Tensor | None = None
    if func is functional.linear and len(args) > 1:
        weight = args[1]
    elif func is torch.addmm and len(args) > 2:
        weight = args[2].T
    return weight


def _unpacked(value: Tensor) -> tuple[Tensor, Any]:
    """A value and its tangent, None where it has none."""
    unpacked: tuple[Tensor, Any] = forward_ad.unpack_dual(value)  # type: ignore[no-untyped-call]
    return unpacked


def _dual(value: Tensor, tangent: Tensor) -> Tensor:
    dual: Tensor = forward_ad.make_dual(value, tangent)  # type: ignore[no-untyped-call]
    return dual


def _linear(func: Callable[..., Tensor], tensor: Tensor, weight: Tensor, *bias: Any) -> Tensor:
    still, tangent = _unpacked(tensor)
    return _dual(func(still, weight, *bias), functional.linear(tangent, weight))


def _addmm(func: Callable[..., Tensor], bias: Tensor, tensor: Tensor, weight: Tensor) -> Tensor:
    still, tangent = _unpacked(tensor)
    return _dual(func(bias, still, weight), tangent @ weight)


def _elementwise(func: Callable[..., Tensor], tensor: Tensor, **options: Any) -> Tensor:
    """The slope is found once, by a tangent of ones."""
    still, tangent = _unpacked(tensor)
    value, slope = _unpacked(func(_dual(still, torch.ones_like(still)), **options))
    return _dual(value, tangent * slope)


def _layer_norm(
    func: Callable[..., Tensor],
    tensor: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Without its weight, the Jacobian is symmetric: backward is forward, and one kernel."""
    still, tangent = _unpacked(tensor)
    value, mean, scale = torch.native_layer_norm(still, shape, weight, bias, eps)
    moved = torch.ops.aten.native_layer_norm_backward(
        tangent, still, shape, mean, scale, None, None, [True, False, False]
    )[0]
    return _dual(value, moved if weight is None else moved * weight)


def _softmax(
    func: Callable[..., Tensor],
    tensor: Tensor,
    dim: int,
    _stacklevel: int = 3,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The Jacobian is symmetric, as that of the layer norm."""
    still, tangent = _unpacked(tensor)
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
POINTWISE = {
    *(torch.mul, torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__),
    *(torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__),
    *(torch.pow, torch.Tensor.pow, torch.Tensor.__pow__, torch.sigmoid, torch.Tensor.sigmoid),
}
"""Other functions of single numbers, of which activations are made."""
INPUT: dict[Callable[..., Any], int] = {torch.addmm: 1}
"""Which argument changes, where it is not the first."""
