"""Model as a linear network: statistics, weights and slopes are constants of the run.

Within the block every function of torch follows one of these rules, as far as its arguments depend
on the addends (embeddings, biases; see `Addend`):

* Linear functions stay as they are; what is added to the sum becomes an addend itself.
* Norms subtract the mean of the vector, and multiply by a constant.
* Activations are straight lines; see `activation_slopes`.
* In a product of two such numbers, one factor is a constant: the factor that went through an
  activation (the gate of a feed-forward layer), else the first (linear attention: queries, keys).
* The output of any other function (softmax, rsqrt, sigmoid, exp ...) is a constant.

So the output is linear in the addends by construction.  It is their sum unless a constant that
depends on the input was added to it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from headlight.capture.linear_network.activation_slopes import line, tangent
from headlight.capture.linear_network.addends import Bookkeeper
from headlight.capture.linear_network.torch_functions import (
    ATTRIBUTES,
    BENDING,
    CONVOLUTIONS,
    LIKE,
    LISTS,
    MATRICES,
    MOVING,
    PRODUCTS,
    QUOTIENTS,
    SHAPED,
    SUMS,
    bound,
    in_place,
    is_number,
    kept_at,
    name_of,
)
from headlight.errors import UnsupportedModelError
from headlight.settings.attribution import Slope

Rule = Callable[..., Any]
Options = dict[str, Any]


class LinearRules(TorchFunctionMode):
    """Mode in which all that depends on addends does so linearly; the keeper keeps the addends."""

    def __init__(self, keeper: Bookkeeper, slope: Slope) -> None:
        super().__init__()
        self.keeper = keeper
        self.slope: Slope = slope
        self.suspects: list[str] = []
        """Functions that may have lost a part of their input."""
        self.frozen = WeakTensorKeyDictionary()
        """Constants that depend on the input, with the functions that made them."""
        self.named = WeakTensorKeyDictionary()
        """Parts of parameters, with the names of the parameters."""
        self.bent = WeakTensorKeyDictionary()
        """Results of activations."""
        self.bias = WeakTensorKeyDictionary()
        """Results of linear maps, with the biases of the maps."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Apply the rule of `func`, if an argument depends on addends."""
        options, name = kwargs or {}, name_of(func)
        if getattr(func, "__name__", "") == "__get__" and name not in ATTRIBUTES:
            return func(*args)
        if name == "embedding":
            return self.keeper.embedded(args[0], args[1], func(*args, **options))
        if name in LIKE and args:  # of the other arguments only shape or type is read
            args = (args[0], *map(self.still, args[1:]))
            options = {key: self.still(value) for key, value in options.items()}
        if not any(map(self.moves, tree_iter((args, options)))):
            result = func(*args, **options)
            self._derive(result, (args, options))
            return result
        if name in SHAPED:
            return func(*tree_map(self.still, args), **options)
        rule = RULES.get(name)
        return self.freeze(func, args, options) if rule is None else rule(self, func, args, options)

    def moves(self, value: Any) -> bool:
        """Return whether a value depends on addends."""
        if not isinstance(value, Tensor):
            return False
        if value.requires_grad:
            return True
        return self.keeper.tangents and tangent(value) is not None

    def freeze(self, func: Callable[..., Any], args: tuple[Any, ...], options: Options) -> Any:
        """Return the output as a constant; refuse a function that writes into what moves.

        Raises:
            UnsupportedModelError: the function would write into a moving value.
        """
        name, place = name_of(func), self.keeper.place()
        if in_place(func, options) and args and self.moves(args[0]):
            raise UnsupportedModelError(
                f"{place} changes numbers in place by {name}, for which a linear network has no "
                "rule, so the parts of the prediction cannot be told apart."
            )
        args, options = tree_map(self.still, (args, options))
        result = func(*args, **options)
        for output in tree_iter(result):
            if is_number(output):
                self.frozen[output] = f"{name} in {place}" if place else name
        return result

    def still(self, value: Any) -> Any:
        """Return a value, as a constant of the run where it depends on addends."""
        return value.detach() if self.moves(value) else value

    def added(self, value: Any, like: Tensor) -> Any:
        """Return an addend in the place of a constant that is added to the sum."""
        if self.moves(value) or (not isinstance(value, Tensor) and not value):
            return value
        if self.keeper.tangents:
            return value
        if not isinstance(value, Tensor):
            value = torch.tensor(value, dtype=like.dtype, device=like.device)
        if not is_number(value):
            value = value.to(like.dtype)
        if (made_by := kept_at(self.frozen, value)) is not None:
            return self.keeper.addend(value, "frozen", made_by)
        name = self.keeper.name(value) or kept_at(self.named, value) or self.keeper.place()
        return self.keeper.addend(value, "bias", name)

    def marked(self, outputs: Any, source: Tensor, *, bent: bool = False) -> Any:
        """Mark the outputs of a function as activations if its input is marked, or if `bent`."""
        for output in tree_iter(outputs):
            if isinstance(output, Tensor):
                if bent or source in self.bent:
                    self.bent[output] = True
                if (bias := kept_at(self.bias, source)) is not None:
                    self.bias[output] = bias
        return outputs

    def behind(self, product: Tensor, factors: Sequence[Any]) -> Tensor:
        """Return the output of a product of matrices.

        A factor that depends on the input (attention weights) makes it no linear map of the model.
        """
        depends = any(isinstance(factor, Tensor) and factor in self.frozen for factor in factors)
        return product if depends else self.keeper.behind(product)

    def channels(self, value: Any, like: Tensor) -> Any:
        """Return a parameter of each channel shaped to broadcast, under its name; or None."""
        if value is None:
            return None
        reshaped = value.reshape([-1, *[1] * (like.ndim - 2)])
        if (name := self.keeper.name(value) or kept_at(self.named, value)) is not None:
            self.named[reshaped] = name
        return reshaped

    def line(self, function: Callable[[Tensor], Tensor], value: Tensor) -> Tensor | None:
        """Return the value on the straight line of an activation; None where it misses zero.

        With the slope from zero, no line stands for an activation that is not zero at zero.
        """
        still = value.detach()
        if self.slope == "zero_origin" and bool(function(still.new_zeros(())) != 0):
            return None
        bias = kept_at(self.bias, value)
        if bias is not None and bias.shape[-1] != value.shape[-1]:
            bias = None
        steep, offset = line(function, still, self.slope, bias)
        straight = value * steep
        if offset is not None:
            straight = straight + self.added(offset, straight)
        self.bent[straight] = True
        return straight

    def _derive(self, outputs: Any, arguments: Any) -> None:
        """Hand on marks and names of constants to what is made of them."""
        values = [value for value in tree_iter(arguments) if isinstance(value, Tensor)]
        stain = next((self.frozen[value] for value in values if value in self.frozen), None)
        names = (self.keeper.name(value) or kept_at(self.named, value) for value in values)
        name = None if stain else next(filter(None, names), None)
        if stain is None and name is None:
            return
        for output in tree_iter(outputs):
            if is_number(output):
                (self.named if stain is None else self.frozen)[output] = stain or name


def _moving(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    """Apply a function that is linear in one tensor."""
    moving = [value for value in tree_iter((args, options)) if rules.moves(value)]
    if len(moving) > 1 or options.get("training") or not args or args[0] is not moving[0]:
        return rules.freeze(func, args, options)
    return rules.marked(func(*args, **options), moving[0])


def _pad(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    value = args[3] if len(args) > 3 else options.get("value")
    if value and (args[2] if len(args) > 2 else options.get("mode", "constant")) == "constant":
        return rules.freeze(func, args, options)
    return rules.marked(func(*args, **options), args[0])


def _sum(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    first, second = args[0], args[1] if len(args) > 1 else options["other"]
    rest = {name: value for name, value in options.items() if name != "other"}
    like = first if rules.moves(first) else second
    if not (in_place(func, options) and not rules.moves(first)):
        first = rules.added(first, like)
    elif bool(first.any()):
        rules.suspects.append(f"{name_of(func)} in {rules.keeper.place()}")
    total = func(first, rules.added(second, like), *args[2:], **rest)
    for summand in (first, second):
        if isinstance(summand, Tensor) and summand in rules.bent:
            rules.bent[total] = True
    return total


def _list(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    values = args[0] if args else options["tensors"]
    like = next(value for value in values if rules.moves(value))
    values = [rules.added(value, like) for value in values]
    rest = {name: value for name, value in options.items() if name != "tensors"}
    return func(values, *args[1:], **rest)


def _where(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    """Select from a tensor or the function's arguments: the condition is not always first."""
    if options or len(args) != 3:
        return rules.freeze(func, args, options)
    method = not isinstance(args[0], Tensor) or args[0].dtype != torch.bool
    condition, chosen, other = (args[1], args[0], args[2]) if method else args
    like = chosen if rules.moves(chosen) else other
    return torch.where(condition, rules.added(chosen, like), rules.added(other, like))


def _fill(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    values, mask = args[:2]
    value = args[2] if len(args) > 2 else options["value"]
    if not rules.moves(values) or in_place(func, options):
        if isinstance(value, Tensor) or value:
            return rules.freeze(func, args, options)
        return func(*args, **options)
    filled = torch.where(mask, rules.added(value, values), values)
    return rules.marked(filled, values)


def _write(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    """Write values into places of a tensor; what this held before is either zero or lost."""
    base, value = args[0], args[-1]
    if not rules.moves(base) and bool(base.any()):
        rules.suspects.append(f"{name_of(func)} in {rules.keeper.place()}")
    like = base if rules.moves(base) else value
    return func(*args[:-1], rules.added(value, like), **options)


def _product(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    first, second = args[0], args[1] if len(args) > 1 else options["other"]
    rest = {name: value for name, value in options.items() if name != "other"}
    if first is second:  # a square bends, and neither factor is a constant
        return _bend(rules, torch.square, (first,), {})
    if not (rules.moves(first) and rules.moves(second)):
        moving, other = (first, second) if rules.moves(first) else (second, first)
        gate = isinstance(other, Tensor) and other in rules.frozen and other.shape == moving.shape
        return rules.marked(func(first, second, **rest), moving, bent=gate)
    if in_place(func, options) or (second in rules.bent and first not in rules.bent):
        return func(first, rules.still(second), **rest)
    return func(rules.still(first), second, **rest)


def _quotient(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    if len(args) < 2 or not rules.moves(args[0]) or options.get("rounding_mode"):
        return rules.freeze(func, args, options)
    return rules.marked(func(args[0], rules.still(args[1]), **options), args[0])


def _matrices(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    first, second, *rest = args
    if rules.moves(first) and rules.moves(second):
        if name_of(func) == "rmatmul":
            second = rules.still(second)
        else:
            first = rules.still(first)
    return rules.behind(func(first, second, *rest, **options), (first, second))


def _einsum(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    operands = list(args[1]) if isinstance(args[1], list | tuple) else list(args[1:])
    last = max(place for place, value in enumerate(operands) if rules.moves(value))
    stills = [
        operand if at == last else rules.still(operand) for at, operand in enumerate(operands)
    ]
    return rules.behind(func(args[0], *stills, **options), stills)


def _baddbmm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    added, first, second = bound(args, options, _BADDBMM, ())
    if rules.moves(first) and rules.moves(second):
        first = rules.still(first)
    like = next(value for value in (added, first, second) if rules.moves(value))
    rest = {name: value for name, value in options.items() if name not in _BADDBMM}
    return func(rules.added(added, like), first, second, **rest)


def _linear(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    tokens, weight, bias = bound(args, options, _AFFINE, (None,))
    return _affine(rules, partial(functional.linear, weight=rules.still(weight)), tokens, bias)


def _addmm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    if options:
        return rules.freeze(func, args, options)
    bias, tokens, weight = args
    return _affine(rules, lambda x: x @ rules.still(weight), tokens, bias)


def _convolution(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    others = {name: value for name, value in options.items() if name not in _AFFINE}
    signal, weight, bias = bound(args[:3], options, _AFFINE, (None,))
    bias, weight = rules.channels(bias, weight), rules.still(weight)
    return _affine(rules, lambda x: func(x, weight, None, *args[3:], **others), signal, bias)


_BADDBMM = ("input", "batch1", "batch2")
_AFFINE = ("input", "weight", "bias")


def _affine(
    rules: LinearRules, function: Callable[[Tensor], Tensor], tokens: Tensor, bias: Tensor | None
) -> Tensor:
    """Apply a linear map, behind which a network may be cut; its bias is added."""
    if not rules.moves(tokens):  # then its weight does, or its bias
        return function(tokens) if bias is None else function(tokens) + bias
    mapped = rules.behind(function(tokens), ())
    if bias is not None:
        mapped = mapped + rules.added(bias, mapped)
        if bias.ndim == 1:
            rules.bias[mapped] = bias.detach()
    return mapped


def _layer_norm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    tokens, shape, weight, bias, eps = bound(
        args, options, ("input", "normalized_shape", "weight", "bias", "eps"), (None, None, 1e-5)
    )
    axes = tuple(range(-len(shape), 0))
    return _scale(rules, _standardise(tokens, axes, eps), weight, bias)


def _rms_norm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    tokens, shape, weight, eps = bound(
        args, options, ("input", "normalized_shape", "weight", "eps"), (None, None)
    )
    axes = tuple(range(-len(shape), 0))
    square = tokens.detach().square().mean(axes, keepdim=True)
    eps = torch.finfo(tokens.dtype).eps if eps is None else eps  # as torch has it
    return _scale(rules, tokens * torch.rsqrt(square + eps), weight, None)


def _group_norm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    signal, groups, weight, bias, eps = bound(
        args, options, ("input", "num_groups", "weight", "bias", "eps"), (None, None, 1e-5)
    )
    parts = signal.reshape(signal.shape[0], groups, -1)
    unit = _standardise(parts, (-1,), eps).reshape(signal.shape)
    return _scale(rules, unit, *(rules.channels(parameter, signal) for parameter in (weight, bias)))


def _batch_norm(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    names = "input running_mean running_var weight bias training momentum eps".split()  # noqa: SIM905
    inputs = bound(args, options, names, (None, None, False, 0.1, 1e-5))
    signal, mean, variance, weight, bias, training, _, eps = inputs
    if training or mean is None:
        return rules.freeze(func, args, options)
    centred = signal + rules.added(-rules.channels(mean, signal), signal)
    scale = torch.rsqrt(rules.channels(variance, signal) + eps)
    weight, bias = (rules.channels(parameter, signal) for parameter in (weight, bias))
    return _scale(rules, centred * scale, weight, bias)


def _standardise(values: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    centred = values - values.mean(axes, keepdim=True)
    variance = centred.detach().square().mean(axes, keepdim=True)
    return centred * torch.rsqrt(variance + eps)


def _scale(
    rules: LinearRules, values: Tensor, weight: Tensor | None, bias: Tensor | None
) -> Tensor:
    scaled = values if weight is None else values * weight
    return scaled if bias is None else scaled + rules.added(bias, scaled)


def _normalize(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    vectors, p, dim, eps = bound(args, options, ("input", "p", "dim", "eps"), (2.0, 1, 1e-12))
    length = vectors.detach().norm(p, dim, keepdim=True).clamp_min(eps)
    return vectors / length


def _glu(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    tokens, dim = bound(args, options, ("input", "dim"), (-1,))
    value, gate = tokens.chunk(2, dim)
    return value * torch.sigmoid(gate.detach())


def _bend(rules: LinearRules, func: Rule, args: tuple[Any, ...], options: Options) -> Any:
    others = [*args[1:], *options.values()]
    if not args or not rules.moves(args[0]) or any(map(rules.moves, others)):
        return rules.freeze(func, args, options)
    chosen = {name: value for name, value in options.items() if name != "inplace"}
    straight = rules.line(lambda x: func(x, *args[1:], **chosen), args[0])
    if straight is None:
        return rules.freeze(func, args, options)
    if name_of(func) in ("clamp", "clip"):  # a bound is no gate
        del rules.bent[straight]
    return straight


RULES: dict[str, Rule] = {
    **dict.fromkeys(MOVING, _moving),
    **dict.fromkeys(BENDING, _bend),
    **dict.fromkeys(SUMS, _sum),
    **dict.fromkeys(LISTS, _list),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys(QUOTIENTS, _quotient),
    **dict.fromkeys(MATRICES, _matrices),
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(("index_add", "index_copy", "scatter_add", "setitem"), _write),
    "pad": _pad,
    "where": _where,
    "masked_fill": _fill,
    "einsum": _einsum,
    "baddbmm": _baddbmm,
    "linear": _linear,
    "addmm": _addmm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "normalize": _normalize,
    "glu": _glu,
}
