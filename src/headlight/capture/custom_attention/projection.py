"""Projection W^O of the contexts of an attention module with code of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from headlight.capture.custom_attention.products import OwnAttention
from headlight.errors import UnsupportedModelError

Rows = Tensor
"""``batch query feature``"""


class OwnProjection(nn.Module):
    """W^O that a model multiplies by in its own code, as a module whose hooks are called.

    It is given ``batch query feature``, however the model orders that, and is no part of the model.

    Args:
        parameter: Parameter that contexts are multiplied by.
        bias: Bias b^O; None if there is none.
        name: Name of the parameter.
        matrix: Function that makes ``feature d_model`` of the parameter.
    """

    def __init__(
        self, parameter: Tensor, bias: Tensor | None, name: str, matrix: Callable[[Tensor], Tensor]
    ) -> None:
        super().__init__()
        self.name = name
        self._matrix = matrix
        self._stored = [parameter, bias]  # in a list, so that they are no parameters of this module

    @property
    def weight(self) -> Tensor:
        """Return W^O as ``feature d_model``."""
        stored = self._stored[0]
        assert stored is not None  # noqa: S101 - every projection has one
        return self._matrix(stored)

    @property
    def bias(self) -> Tensor | None:
        """Return b^O; None if there is none."""
        return self._stored[1]

    def uses(self, operand: Any) -> bool:
        """Return whether a factor is the parameter, or the parameter in another shape."""
        return same_memory(operand, self._stored[0])

    def forward(self, rows: Rows, run: Callable[[Rows], Rows]) -> Rows:
        """Compute as the model does it."""
        return run(rows)


@dataclass(frozen=True, eq=False)
class Route:
    """Way from an attention module to its W^O.

    Attributes:
        projection: W^O: a linear map of the model, or the stand-in of a parameter.
        sequence_first: Whether the hidden states of the model are ``token batch size``.
    """

    projection: nn.Module
    sequence_first: bool
    _verified: set[Any] = field(default_factory=set)

    def verify(self, attention: OwnAttention, name: str) -> None:
        """Check that weights times values are what is projected, once for texts of each length.

        Args:
            attention: Attention that the module has computed.
            name: Name of its class.

        Raises:
            UnsupportedModelError: they are not, or the weights of a query are more than 1.
        """
        lengths = attention.context.shape[1], attention.arguments[2].shape[2]
        if lengths in self._verified:
            return
        with torch.no_grad():
            problem = attention.misses()
        if problem is not None:
            raise UnsupportedModelError(f"{name}: in texts of {lengths[1]} tokens {problem}")
        self._verified.add(lengths)


routes: WeakKeyDictionary[nn.Module, Route] = WeakKeyDictionary()
"""Routes of all attention modules with code of their own that were found in a traced model."""


def routes_of(model: nn.Module) -> dict[nn.Module, Route]:
    """Return the routes of the attention modules of a model."""
    return {module: routes[module] for module in model.modules() if module in routes}


def own_projections(model: nn.Module) -> Iterator[OwnProjection]:
    """Yield the stand-ins of the parameters that attention of a model is projected by."""
    projections = (route.projection for route in routes_of(model).values())
    yield from dict.fromkeys(
        projection for projection in projections if isinstance(projection, OwnProjection)
    )


@dataclass(frozen=True, eq=False)
class Use:
    """One multiplication of contexts by a matrix.

    Attributes:
        given: Contexts.
        axes: Number of their last axes that are features.
        operand: Matrix, in the shape in which contexts are multiplied by it.
        bias: Vector added to the product; None if there is none.
        matrix: Function that makes ``feature d_model`` of the operand.
        run: Function that multiplies other contexts by the matrix.
    """

    given: Tensor
    axes: int
    operand: Tensor
    bias: Tensor | None
    matrix: Callable[[Tensor], Tensor]
    run: Callable[[Tensor], Tensor]


def use_of(
    func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], place: int
) -> Use | None:
    """Return the multiplication that a function of torch does with contexts; None for another.

    Args:
        func: Function of torch.
        args: Positional arguments of the function.
        options: Keyword arguments of the function.
        place: Position of the contexts among `args`.
    """
    name = getattr(func, "__name__", "")
    contexts = args[place]

    def run(other: Tensor) -> Tensor:
        product: Tensor = func(*args[:place], other, *args[place + 1 :], **options)
        return product

    if name == "linear" and place == 0:
        operand = args[1] if len(args) > 1 else options["weight"]
        bias = args[2] if len(args) > 2 else options.get("bias")
        return Use(contexts, 1, operand, bias, _transpose, run)
    if name == "addmm" and place == 1:
        return Use(contexts, 1, args[2], args[0], _identity, run)
    if name in ("matmul", "__matmul__") and place == 0 and args[1].ndim == 2:
        return Use(contexts, 1, args[1], None, _identity, run)
    if name != "einsum" or len(args) != 3:
        return None
    terms, _, result = args[0].replace(" ", "").partition("->")
    operands = terms.split(",")
    mine, other = operands[place - 1], operands[2 - place]
    summed = [letter for letter in mine if letter in other and letter not in result]
    free_letters = [letter for letter in other if letter not in summed]
    rows = mine[: len(mine) - len(summed)]
    expected = (rows + "".join(summed), rows + "".join(free_letters))
    if not summed or "." in args[0] or (mine, result) != expected:
        return None
    order = [other.index(letter) for letter in (*summed, *free_letters)]

    def matrix(operand: Tensor) -> Tensor:
        return operand.permute(order).flatten(0, len(summed) - 1).flatten(1)

    return Use(contexts, len(summed), args[3 - place], None, matrix, run)


def operand_of(parameter: Tensor, operand: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the function that turns a parameter into an operand, which has its memory."""
    if operand.shape == parameter.shape and operand.stride() == parameter.stride():
        return _identity
    if operand.ndim == 2 and operand.stride() == parameter.T.stride():
        return _transpose
    shape = operand.shape
    return lambda stored: stored.reshape(shape)


def _identity(operand: Tensor) -> Tensor:
    return operand


def _transpose(operand: Tensor) -> Tensor:
    return operand.T


def same_memory(first: Any, second: Any) -> bool:
    """Return whether two tensors are one, or the same memory in another shape."""
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return False
    return (
        first.numel() == second.numel()
        and first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
        and first.storage_offset() == second.storage_offset()
    )
