"""Functions of torch by what they do to a sum."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

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
"""Functions that are linear in one tensor: numbers are moved, copied, left out, summed."""

BENDING = frozenset([
    "gelu", "silu", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "tanh", "hardtanh",
    "hardswish", "mish", "softsign", "erf", "sin", "square", "pow", "abs", "clamp", "clip",
    "hardshrink", "softshrink", "tanhshrink", "expm1", "sinh", "prelu", "threshold"
])  # fmt: skip
"""Functions of single numbers that may be zero at zero; where one is not, it is a constant."""

LIKE = frozenset(["view_as", "reshape_as", "expand_as", "type_as", "to"])

SHAPED = frozenset([
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "new_zeros", "new_ones",
    "new_empty", "new_full", "new_tensor", "size", "dim", "numel", "stride"
])  # fmt: skip
"""Functions that read no numbers."""

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
    """Return whether a function writes into its first tensor, or into ``out``."""
    name = getattr(func, "__name__", "")
    if name.startswith("__"):
        return name.strip("_") in _IN_PLACE
    return name.endswith("_") or options.get("out") is not None


def kept_at(table: WeakTensorKeyDictionary, key: Tensor) -> Any:
    """Return the entry of a table for a tensor; None if there is none."""
    return table[key] if key in table else None  # noqa: SIM401 - its `get` has no types


def is_number(value: Any) -> bool:
    """Return whether a value is a tensor of floating-point numbers."""
    return isinstance(value, Tensor) and value.is_floating_point()


def bound(
    args: tuple[Any, ...], options: Mapping[str, Any], names: Sequence[str], defaults: Sequence[Any]
) -> list[Any]:
    """Return the arguments of these names, given by position, by name, or by default."""
    by_name = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    by_name |= dict(zip(names, args, strict=False)) | dict(options)
    return [by_name[name] for name in names]
