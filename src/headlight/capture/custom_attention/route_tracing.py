"""Tracing of the projection behind attention in a model's own code, in one pass."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headlight.capture.attention_interface import own_code
from headlight.capture.custom_attention.function_mode import Context, OwnCode
from headlight.capture.custom_attention.layout import NoLayoutError
from headlight.capture.custom_attention.products import OwnAttention, attend_eagerly, leave_alone
from headlight.capture.custom_attention.projection import (
    OwnProjection,
    Route,
    Use,
    operand_of,
    routes,
    same_memory,
)
from headlight.capture.hooks import Registration, hooked
from headlight.capture.trial_inputs import FAILURES


def find_own_code(
    model: nn.Module, inputs: Mapping[str, Any], passed: Collection[nn.Module]
) -> dict[nn.Module, str]:
    """Find the routes of attention modules with code of their own, and keep them.

    Args:
        model: Model in evaluation mode.
        inputs: Inputs of its forward pass.
        passed: Modules that call the interface.

    Returns:
        Reasons why modules whose weights were seen have no route, as ends of sentences.
    """
    # A single text would not show whether texts or queries come first.
    for trial in (_double_texts(inputs), inputs):
        finder = Finder(model, passed)
        try:
            with hooked(finder.hooks()), torch.no_grad(), finder:
                model(**trial)
        except FAILURES:
            if trial is inputs:
                raise
            continue
        break
    for module, route in finder.found_routes():
        routes[module], own_code[module] = route, (attend_eagerly, leave_alone)
    return finder.problems


def _double_texts(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: torch.cat([tensor, tensor]) if isinstance(tensor, Tensor) and tensor.ndim else tensor
        for name, tensor in inputs.items()
    }


class Finder(OwnCode):
    """Mode that follows contexts of any module to their projections."""

    def __init__(self, model: nn.Module, passed: Collection[nn.Module]) -> None:
        super().__init__({})
        self.problems: dict[nn.Module, str] = {}
        self._model = model
        self._interface = passed
        self._names = dict(model.named_parameters())
        self._runs: Counter[nn.Module] = Counter()
        self._found: dict[nn.Module, list[nn.Module]] = {}
        self._given: dict[nn.Module, torch.Size] = {}
        self._first: dict[nn.Module, bool] = {}

    def hooks(self) -> list[Registration]:
        """Return hooks of all modules."""
        linear = (
            module for module in self._model.modules() if isinstance(module, nn.Linear | Conv1D)
        )
        return [*self._watching(self._model.modules()), *map(self._before, linear)]

    def found_routes(self) -> Iterator[tuple[nn.Module, Route]]:
        """Yield the modules whose every run is projected once, by the same matrix."""
        for module, projections in self._found.items():
            if len(projections) == self._runs[module] and len(set(projections)) == 1:
                self.problems.pop(module, None)
                yield module, Route(projections[0], self._first[module])
            else:
                self.problems[module] = (
                    f"{len(projections)} products of weights and values are projected in "
                    f"{self._runs[module]} of its runs, so its layers have no names"
                )

    def _enter(self, module: nn.Module, arguments: Any, options: Any) -> None:
        super()._enter(module, arguments, options)
        self._runs[module] += 1
        given = (*arguments, *options.values())
        states = (
            argument for argument in given if isinstance(argument, Tensor) and argument.ndim == 3
        )
        self._given[module] = next((argument.shape[:2] for argument in states), torch.Size())

    def lost(self, tag: Any, name: str) -> None:
        """Note the function that weights or a context were lost in."""
        if isinstance(tag, Context) and tag.module not in self._interface:
            self.problems[tag.module] = f"what the heads compute goes into {name}"
        elif self._within and self._within[-1] not in self._interface:
            self.problems.setdefault(self._within[-1], f"the weights go into {name}")

    def project(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Note a linear map that receives contexts as it would receive those of the interface."""
        tag = self.tag_of(inputs[0]) if inputs else None
        if isinstance(tag, Context):
            attention = self._try_layout(tag, inputs[0], 1)
            if attention is not None and not attention.layout.query_first:
                self._note(tag, attention, module)

    def multiply(self, tag: Context, use: Use) -> Tensor:
        """Note a parameter that contexts are multiplied by."""
        attention = self._try_layout(tag, use.given, use.axes)
        stored = [
            name for name, parameter in self._names.items() if same_memory(parameter, use.operand)
        ]
        if not stored:
            self.lost(tag, "a product with other numbers of the input")
        elif attention is not None:
            self._note(tag, attention, self._stand_in(tag.module, stored[0], use))
        return use.run(use.given)

    def _stand_in(self, module: nn.Module, name: str, use: Use) -> nn.Module:
        route = routes.get(module)
        for candidate in (route and route.projection, *self._found.get(module, ())):
            if isinstance(candidate, OwnProjection) and candidate.uses(use.operand):
                return candidate
        parameter = self._names[name]
        operand, matrix = operand_of(parameter, use.operand), use.matrix
        label = name.removesuffix(".weight")
        return OwnProjection(parameter, use.bias, label, lambda stored: matrix(operand(stored)))

    def _try_layout(self, tag: Context, tensor: Tensor, axes: int) -> OwnAttention | None:
        if tag.module in self._interface:
            return None
        try:
            return tag.projected(tensor, axes)
        except NoLayoutError as problem:
            self.problems[tag.module] = str(problem)
            return None

    def _note(self, tag: Context, attention: OwnAttention, projection: nn.Module) -> None:
        batch, queries = attention.context.shape[:2]
        self._first[tag.module] = batch != queries and self._given[tag.module] == (queries, batch)
        self._found.setdefault(tag.module, []).append(projection)
        del self._tags[
            id(attention.given)
        ]  # a linear map runs as a module, and as a function in it
