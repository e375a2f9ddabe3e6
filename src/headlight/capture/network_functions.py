"""Functions that a linear network calls, their addends and slopes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.weak import WeakTensorKeyDictionary

from headlight.errors import UnsupportedModelError
from headlight.settings.flow import Slope

MOVING = frozenset([
    "view", "reshape", "view_as", "reshape_as", "transpose", "permute", "getitem", "split",
    "split_with_sizes", "chunk", "unbind", "squeeze", "unsqueeze", "expand", "expand_as",
    "contiguous", "clone", "to", "float", "double", "type", "type_as", "repeat", "tile",
    "flatten", "unflatten", "narrow", "select", "index_select", "gather", "roll", "flip",
    "movedim", "moveaxis", "swapaxes", "swapdims", "t", "neg", "negative", "positive", "sum",
    "mean", "cumsum", "dropout", "dropout1d", "dropout2d", "feature_dropout", "alpha_dropout",
    "repeat_interleave", "broadcast_to", "take_along_dim", "masked_select", "triu", "tril",
    "diagonal", "ravel", "unfold", "fold", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "cpu", "cuda", "tensor_split", "hsplit",
    "vsplit", "dsplit", "real", "T", "mT", "H", "mH"
])  # fmt: skip
"""Linear in the one tensor that they are given: numbers are moved, copied, left out, summed."""

BENDING = frozenset([
    "gelu", "silu", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "tanh", "hardtanh",
    "hardswish", "mish", "softsign", "erf", "sin", "square", "pow", "abs", "clamp", "clip",
    "hardshrink", "softshrink", "tanhshrink", "expm1", "sinh", "prelu", "threshold"
])  # fmt: skip
"""Functions of single numbers that may be zero at zero; those that are not are constants."""

LIKE = frozenset(["view_as", "reshape_as", "expand_as", "type_as", "to"])

SHAPED = frozenset([
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "new_zeros", "new_ones",
    "new_empty", "new_full", "new_tensor", "size", "dim", "numel", "stride"
])  # fmt: skip
"""They look at no numbers."""

ATTRIBUTES = frozenset(["T", "mT", "H", "mH", "real", "data"])
"""Attributes of a tensor that are tensors."""

SUMS = frozenset(["add", "iadd", "radd", "sub", "isub", "rsub", "subtract"])
LISTS = frozenset(["cat", "concat", "concatenate", "stack", "hstack", "vstack"])
PRODUCTS = frozenset(["mul", "imul", "rmul", "multiply"])
QUOTIENTS = frozenset(["div", "truediv", "itruediv", "true_divide", "divide"])
MATRICES = frozenset(["matmul", "rmatmul", "mm", "bmm", "mv", "dot"])
CONVOLUTIONS = frozenset(["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"])

_IN_PLACE = frozenset({"iadd", "isub", "imul", "itruediv", "setitem"})


def name_of(func: Callable[..., Any]) -> str:
    """Return the name of a function of torch, without the underscores around it."""
    name: str = getattr(func, "__name__", "")
    if name == "__get__":
        return str(getattr(getattr(func, "__self__", None), "__name__", ""))
    return name.strip("_")


def in_place(func: Callable[..., Any], options: dict[str, Any]) -> bool:
    """Whether a function writes into the first tensor that it is given."""
    name = getattr(func, "__name__", "")
    if name.startswith("__"):
        return name.strip("_") in _IN_PLACE
    return name.endswith("_") or options.get("out") is not None


AddendKind = Literal["token", "embedding", "input", "bias", "attention", "linear", "frozen"]
"""Source of an addend.

``token``
    rows of the table of input embeddings.
``embedding``
    rows of another table: of positions, of segments.
``input``
    numbers that the model was given as they are: pixels, sound.
``bias``
    a parameter or a constant that is added: biases, β of norms, learnt positions.
``attention``
    what the heads of a module put out, where a network is cut behind them.
``linear``
    what a linear map puts out, where a network is cut behind it.
``frozen``
    what a function without a rule made of the input.  A network whose output depends on one is not
    linear in the others.
"""


@runtime_checkable
class Bookkeeper(Protocol):
    """Interface of a network to the rules while it runs."""

    tangents: bool
    """Whether it runs for its tangents: nothing but what has one is an addend."""

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """A tensor in the place of one that is added, by which can be differentiated."""

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """Return the rows of a table of embeddings, as an addend."""

    def behind(self, value: Tensor) -> Tensor:
        """Return the output of a linear map; or an addend, where the network is cut behind it."""

    def place(self) -> str:
        """The module that runs."""

    def name(self, value: Tensor) -> str | None:
        """Return the name of a parameter."""


class Still:
    """Keeps nothing: what is added does not change."""

    tangents = True

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """It stays."""
        return value

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def behind(self, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def place(self) -> str:
        """Nobody asks."""
        return ""

    def name(self, value: Tensor) -> str | None:
        """Nobody asks."""
        return None


@dataclass(frozen=True, eq=False)
class Addend:
    """One thing that was added.

    Attributes:
        name: of the parameter, or of the module in which it was added.
        kind: where it comes from.
        value: a tensor in the graph of the output, by which that can be differentiated.
        place: the name of the module that was running.
        block: the number of the run of a block in which that was, from 0; -1 outside of blocks.
    """

    name: str
    kind: AddendKind
    value: Tensor
    place: str
    block: int


TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}
"""Allowed difference between an output and the sum of its parts, relative to the lengths of these.

Some models compute norms in float32 though they are in float64.
"""


def slopes_of(
    output: Tensor, addends: Sequence[Addend], suspects: Sequence[str], name: str
) -> list[Tensor | None]:
    """∂output/∂addend of each addend, and the check that the output is the sum of their parts.

    Args:
        output: one number, in the graph of a linear network.
        addends: of that network.
        suspects: functions that may have lost a part; for the message.
        name: of the model.

    Returns:
        None where the output does not depend on an addend.

    Raises:
        UnsupportedModelError: the parts do not add up to the output.
    """
    slopes = gradients(output, [each.value for each in addends])
    total, square = 0.0, 0.0
    for addend, slope in zip(addends, slopes, strict=True):
        if slope is None:
            continue
        if addend.kind == "frozen" and bool(slope.any()):
            raise _refused(name, addend.name)
        part = float(share(slope, addend.value).double().sum())
        total, square = total + part, square + part**2
    value = float(output.detach())
    allowed = TOLERANCE[output.dtype] * max(abs(value), square**0.5)
    if not abs(total - value) <= allowed:
        raise _refused(name, suspects[0] if suspects else "one of its functions")
    return slopes


def share(slope: Tensor, value: Tensor) -> Tensor:
    """Return the contribution of each number of an addend: the number times its slope.

    Masks add -∞, which nothing depends on.
    """
    return torch.where(slope == 0, 0, slope * value.detach())


def gradients(output: Tensor, values: Sequence[Tensor]) -> list[Tensor | None]:
    """∂output/∂value of tensors in its graph; None where it does not depend on one."""
    if not values or not output.requires_grad:
        return [None] * len(values)
    slopes = torch.autograd.grad(output, list(values), allow_unused=True, retain_graph=True)
    return list(slopes)


def _refused(name: str, function: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the parts of a prediction of {name} do not add up, because {function} makes something of "
        "the text that is added to the rest, for which there is no rule."
    )


NEAR = 1e-4
"""Two numbers that are nearer than this, relative to their size, have the derivative as chord."""


class Line(NamedTuple):
    """act(x) = slope · x + offset, at one x."""

    slope: Tensor
    offset: Tensor | None
    """None is zero."""


def line(
    function: Callable[[Tensor], Tensor], x: Tensor, slope: Slope, origin: Tensor | None
) -> Line:
    """The line by which a function of single numbers is replaced.

    Args:
        function: of every number by itself.
        x: where; it has no graph.
        slope: which line.
        origin: b, for the chord; None is zero.
    """
    value = function(x)
    if slope == "derivative":
        steep = _derivative(function, x)
        return Line(steep, value - steep * x)
    if slope == "zero_origin" or origin is None:
        start = function(torch.zeros((), dtype=x.dtype, device=x.device))
        steep = _chord(function, x, value, torch.zeros_like(x), start)
        return Line(steep, None if not bool(start) else start.expand_as(x))
    from_, start = origin.expand_as(x), function(origin).expand_as(x)
    steep = _chord(function, x, value, from_, start)
    return Line(steep, start - steep * from_)


def _chord(
    function: Callable[[Tensor], Tensor], x: Tensor, value: Tensor, origin: Tensor, start: Tensor
) -> Tensor:
    gap = x - origin
    near = gap.abs() <= NEAR * origin.abs()
    chord = (value - start) / torch.where(gap == 0, 1, gap)
    return torch.where(near, _derivative(function, x), chord) if bool(near.any()) else chord


def _derivative(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return the derivative at every number by itself; also where tangents run side by side."""
    slopes: Tensor = torch.func.grad(lambda values: function(values).sum())(x.detach())
    return slopes


def tangent(value: Tensor) -> Any:
    """Return the tangent of a number in forward mode, if it has one."""
    return forward_ad.unpack_dual(value)[1]  # type: ignore[no-untyped-call]


def kept_at(table: WeakTensorKeyDictionary, key: Tensor) -> Any:
    """Return what a table keeps of a tensor; None if nothing."""
    return table[key] if key in table else None  # noqa: SIM401 - its `get` has no types


def is_number(value: Any) -> bool:
    """Whether it is a tensor of floating-point numbers."""
    return isinstance(value, Tensor) and value.is_floating_point()


def bound(
    args: tuple[Any, ...], options: Mapping[str, Any], names: Sequence[str], defaults: Sequence[Any]
) -> list[Any]:
    """The arguments of these names, wherever they stand."""
    by_name = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    by_name |= dict(zip(names, args, strict=False)) | dict(options)
    return [by_name[name] for name in names]
