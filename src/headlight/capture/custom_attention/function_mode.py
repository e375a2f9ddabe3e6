"""Attention in code of a model's own: from the softmax over a product with values to W^O.

While the model runs, the results of softmax are weights, and so are tensors made of them without
loss of elements; their product with another tensor, the values, is a context; the matrix that
multiplies a context of which only the shape was changed is W^O.  There the attention is handed to
the interface hook, as if the module had called the interface itself, and W^O is given the result.
Nothing about architectures is listed.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from headlight.capture.attention_interface import dispatch_attention
from headlight.capture.custom_attention.layout import NoLayoutError, Notation, Step
from headlight.capture.custom_attention.products import (
    FusedProduct,
    OwnAttention,
    Product,
    WeightProduct,
)
from headlight.capture.custom_attention.projection import (
    OwnProjection,
    Route,
    Use,
    routes_of,
    use_of,
)
from headlight.capture.hooks import Registration, hooked
from headlight.errors import UnsupportedModelError

LOWEST = -1000.0
"""Scores below are those of keys that a query cannot see: masks add less, models make none."""

SHAPES = {
    "view",
    "reshape",
    "transpose",
    "permute",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "swapaxes",
    "swapdims",
    "movedim",
    "t",
    "view_as",
    "reshape_as",
    "expand",
    "expand_as",
    "__getitem__",
    "contiguous",
    "clone",
}
"""Functions that move the elements of weights, so that what belongs to each moves with it."""

MASKS = {"mul", "mul_", "__mul__", "__rmul__", "__imul__", "masked_fill", "masked_fill_", "where"}
PRODUCTS = {"matmul", "bmm", "__matmul__", "einsum"}
_STARTS = {"softmax", "scaled_dot_product_attention", "multi_head_attention_forward"}


@dataclass(frozen=True)
class _Weights:
    """Result of a softmax, or of functions applied to it.

    Attributes:
        hidden: Mask of the elements whose keys are not seen; None where that is lost.
        masked: Whether some weights may have been set to zero since.
        before: Weights before dropout, where there was any.
    """

    hidden: Tensor | None
    masked: bool = False
    before: Tensor | None = None


@dataclass(frozen=True)
class Context:
    """Product of weights with values, with the functions that it has gone through since."""

    module: nn.Module
    product: Product
    steps: tuple[Step, ...] = ()

    def projected(self, tensor: Tensor, axes: int) -> OwnAttention:
        """Return the attention whose context is projected as `tensor`.

        Raises:
            NoLayoutError: the axes of the tensor cannot be told apart.
        """
        return OwnAttention.from_product(self.product, self.steps, tensor, axes)

    def followed(self, tensor: Tensor, axes: int) -> OwnAttention:
        """Return the attention as `projected` does, where tracing has found no obstacle.

        Raises:
            UnsupportedModelError: there is an obstacle in this text.
        """
        try:
            return self.projected(tensor, axes)
        except NoLayoutError as problem:
            raise UnsupportedModelError(
                f"{type(self.module).__name__} attends to a text of this length otherwise than "
                f"when it was traced: {problem}, so f(x) does not exist for it."
            ) from problem


class OwnCode(TorchFunctionMode):
    """Mode in which attention in code of a model's own passes the interface hook.

    Args:
        routes: Ways of contexts to their projection, by attention module.
    """

    def __init__(self, routes: Mapping[nn.Module, Route]) -> None:
        super().__init__()
        self.paused = False
        self._routes = routes
        self._within: list[nn.Module] = []
        self._tags: dict[int, tuple[weakref.ref[Tensor], _Weights | Context]] = {}

    def hooks(self) -> list[Registration]:
        """Return hooks that tell which attention runs, and when it is projected."""
        linear = dict.fromkeys(route.projection for route in self._routes.values())
        return [*self._watching(self._routes), *map(self._before, linear)]

    def _watching(self, modules: Iterable[nn.Module]) -> list[Registration]:
        hooks: list[Registration] = []
        for module in modules:
            enter = partial(module.register_forward_pre_hook, prepend=True, with_kwargs=True)
            leave = partial(module.register_forward_hook, always_call=True)
            hooks += [(enter, self._enter), (leave, self._leave)]
        return hooks

    def _before(self, projection: nn.Module) -> Registration:
        return partial(projection.register_forward_pre_hook, prepend=True), self.project

    def _enter(self, module: nn.Module, _: object, __: object) -> None:
        self._within.append(module)

    def _leave(self, module: nn.Module, *_: object) -> None:
        if module in self._within:  # which an exception in a hook may have kept out
            del self._within[self._within.index(module) :]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Compute, and follow weights and contexts."""
        options, name = kwargs or {}, getattr(func, "__name__", "")
        # Attributes such as shape are read by `__get__`, more often than all else.
        if self.paused or (name not in _STARTS and (not self._tags or name == "__get__")):
            return func(*args, **options)
        if name in _STARTS:
            return self._start(name, func, args, options)
        if name == "einsum" and isinstance(args[1], list | tuple):
            args = (args[0], *args[1])
        tags = ((place, self.tag_of(argument)) for place, argument in enumerate(args))
        place, tag = next(((place, tag) for place, tag in tags if tag is not None), (0, None))
        use = use_of(func, args, options, place) if isinstance(tag, Context) else None
        if isinstance(tag, Context) and use is not None:
            return self.multiply(tag, use)
        result = func(*args, **options)
        if tag is not None:
            self._follow(tag, Step(func, args, options, place), result)
        return result

    def _start(
        self, name: str, func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Compute a function that turns scores into weights, and tag its result."""
        if name == "multi_head_attention_forward":
            with self:
                return _inside(func)(*args, **options)
        result = func(*args, **options)
        if name == "softmax":
            self._tag(result, _Weights((args[0] if args else options["input"]) < LOWEST))
        elif self._within:
            product = FusedProduct.from_call(result, args, options)
            self._tag(result, Context(self._within[-1], product))
        return result

    def _tag(self, tensor: Tensor, tag: _Weights | Context) -> None:
        self._tags[id(tensor)] = weakref.ref(tensor), tag

    def tag_of(self, tensor: Any) -> _Weights | Context | None:
        """Return the tag of a tensor, if it has any."""
        entry = self._tags.get(id(tensor))  # which may be that of a tensor that is gone
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def _follow(self, tag: _Weights | Context, step: Step, result: Any) -> None:
        """Hand a tag on to the result of a function of its tensor."""
        if isinstance(tag, _Weights) and step.name in PRODUCTS:
            self._tag_product(tag, step, result)
            return
        source = step.arguments[step.place]
        if step.name == "__setitem__" and step.place == 0:
            self._tag(source, _tag_after_writing(tag, step))
        elif not isinstance(result, Tensor) or result.numel() != source.numel():
            if result is None or any(isinstance(leaf, Tensor) for leaf in tree_leaves(result)):
                self.lost(tag, step.name)
        elif isinstance(tag, Context):
            self._tag(result, _tag_after_writing(tag, step))
        else:
            self._tag(result, _tag_after_moving(tag, step, source, result))

    def lost(self, tag: _Weights | Context, name: str) -> None:
        """Note that a function has made something else of weights, or of a context."""

    def _tag_product(self, tag: _Weights, step: Step, result: Tensor) -> None:
        """Tag the product of weights with another tensor as a context."""
        einsum = step.name == "einsum"
        operands = step.arguments[einsum:]
        place = step.place - einsum
        if not self._within or len(operands) != 2 or min(operand.ndim for operand in operands) < 2:
            return
        weight, value = operands[place], operands[1 - place]
        notation: Notation | None
        if einsum:
            notation = Notation.from_einsum(step.arguments[0], weight, value, swapped=place == 1)
        else:
            notation = Notation.from_matmul(weight, value, swapped=place == 1)
        if notation is not None:
            product = WeightProduct(
                notation, result, weight, value, step.again, tag.hidden, tag.masked, tag.before
            )
            self._tag(result, Context(self._within[-1], product))

    def project(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Hand attention to the interface hook; a forward pre-hook of projections of contexts."""
        tag = None if self.paused or not inputs else self.tag_of(inputs[0])
        if not isinstance(tag, Context) or module is not self._projection_of(tag):
            return None
        return (self._dispatch(tag.followed(inputs[0], 1), tag.module), *inputs[1:])

    def multiply(self, tag: Context, use: Use) -> Tensor:
        """Multiply contexts by a matrix, by way of a module where that is W^O.

        Raises:
            UnsupportedModelError: the product is asked for another number of texts.
        """
        projection = self._projection_of(tag)
        if not isinstance(projection, OwnProjection) or not projection.uses(use.operand):
            return use.run(use.given)
        attention = tag.followed(use.given, use.axes)
        changed = self._dispatch(attention, tag.module)

        def run(rows: Tensor) -> Tensor:
            if rows.numel() != use.given.numel():
                raise UnsupportedModelError(
                    f"{projection.name} is a part of code of a model's own, which projects "
                    f"{len(attention.context)} texts here; it cannot be given {len(rows)}."
                )
            return attention.layout.rows(use.run(attention.layout.given(rows, use.given.shape)))

        with self:
            rows: Tensor = projection(attention.layout.rows(changed, use.axes), run)
        positions = use.given.shape[: use.given.ndim - use.axes]
        return attention.layout.given(rows, (*positions, rows.shape[2]))

    def _projection_of(self, tag: Context) -> nn.Module | None:
        route = self._routes.get(tag.module)
        return None if route is None else route.projection

    def _dispatch(self, attention: OwnAttention, module: nn.Module) -> Tensor:
        """Return the input of the projection, from attention that the interface hook computes."""
        self.paused = True
        try:
            self._routes[module].verify(attention, type(module).__name__)
            context, _ = dispatch_attention(module, *attention.arguments, **attention.options)
        finally:
            self.paused = False
        self._tags.clear()
        if context is attention.context:
            return attention.given
        rows = context.flatten(2).to(attention.given.dtype)
        return attention.layout.given(rows, attention.given.shape)


def _tag_after_writing(tag: _Weights | Context, step: Step) -> _Weights | Context:
    if isinstance(tag, Context):
        return replace(tag, steps=(*tag.steps, step))
    return replace(tag, masked=True)


def _tag_after_moving(tag: _Weights, step: Step, source: Tensor, result: Tensor) -> _Weights:
    """Return the tag of a tensor that was made of weights, with as many elements."""
    hidden, before = tag.hidden, tag.before
    if step.name in SHAPES:
        hidden = None if hidden is None else step.again(hidden)
        before = None if before is None else step.again(before)
    elif hidden is not None and hidden.shape != result.shape:
        hidden = None
    if step.name.startswith("dropout") and result is not source:
        before = source
    return _Weights(hidden, tag.masked or step.name in MASKS, before)


def _inside(func: Any) -> Callable[..., Any]:
    """Return a copy of a function which does not hand itself as a whole to a mode."""
    free = {**func.__globals__, "has_torch_function": lambda *_: False}
    copied = FunctionType(func.__code__, free, func.__name__, func.__defaults__, func.__closure__)
    copied.__kwdefaults__ = func.__kwdefaults__
    return copied


# A mode is entered by one thread, and pauses that of the same thread around it.
_current = threading.local()


@contextmanager
def own_code_seen(model: nn.Module) -> Iterator[None]:
    """Pass attention of `model` in code of its own to the interface hook within the block.

    Where the traced model has none, nothing is done.  Blocks may be nested; the inner one counts.
    """
    routes = routes_of(model)
    if not routes:
        yield
        return
    mode, outer = OwnCode(routes), getattr(_current, "mode", None)
    _current.mode = mode
    paused = outer is not None and outer.paused
    try:
        if outer is not None:
            outer.paused = True
        with hooked(mode.hooks()), mode:
            yield
    finally:
        _current.mode = outer
        if outer is not None:
            outer.paused = paused
