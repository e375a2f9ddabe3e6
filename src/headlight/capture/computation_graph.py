"""Graph of everything that a model computes in one small pass, which can be walked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headlight.capture.custom_attention.function_mode import own_code_seen
from headlight.capture.custom_attention.projection import own_projections
from headlight.capture.hooks import Registration, first_tensor, hooked

Number = int
"""Number of a value in the graph: values that were made later have larger numbers."""

Slot = int | str | None
"""Position or name of an input of a module; None for its output."""


@dataclass(eq=False)
class Value:
    """One tensor of the pass.

    Attributes:
        tensor: Numbers of the value.
        function: Name of the function that made it, as in ``aten``; empty for parameters, inputs
            and constants.
        arguments: Values that it was made from.
        given: All arguments of the function, in their own form.
    """

    tensor: Tensor
    function: str
    arguments: tuple[Number, ...]
    given: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Run:
    """One run of one module.

    Attributes:
        module: Module that ran.
        given: Values that it was given, by position or name.
        output: Value that it put out, or the first of several; None if that is no tensor.
        begin: Number that the next value had when the run began.
        end: Number that the next value had when the run ended.
    """

    module: nn.Module
    given: Mapping[int | str, Number]
    output: Number | None
    begin: Number
    end: Number

    def slots(self) -> Iterator[tuple[Slot, Number, Number]]:
        """Yield the inputs and the output of the run, and their times."""
        for slot, number in self.given.items():
            yield slot, number, self.begin
        if self.output is not None:
            yield None, self.output, self.end


class PassGraph(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Mode in which every function of torch adds a value to a graph; all tensors are kept."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values: list[Value] = []
        self.runs: list[Run] = []
        """Runs of modules, in the order in which they ended."""
        # By id, as tensors are compared number by number; all are kept, so no id is used again.
        self._numbers: dict[int, Number] = {}
        self._open: list[tuple[dict[int | str, Number], Number]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Compute a function, and add its results to the graph."""
        options = kwargs or {}
        read = [leaf for leaf in tree_leaves((args, options)) if isinstance(leaf, Tensor)]
        arguments = tuple(map(self.number, read))
        if func._schema.is_mutable:  # what is written into has another number from then on
            for number in arguments:
                value = self.values[number]
                if value.function:
                    value.tensor = value.tensor.clone()
        result = func(*args, **options)
        name = func.overloadpacket.__name__
        name = name.removesuffix("_") if func._schema.is_mutable else name  # add_ is a sum as well
        for output in tree_leaves(result):
            if isinstance(output, Tensor):
                self._add(output, name, arguments, (*args, *options.values()))
        return result

    def number(self, tensor: Tensor) -> Number:
        """Return the number of a tensor as it is now; a new tensor is added."""
        index = self._numbers.get(id(tensor))
        return self._add(tensor, "", (), ()) if index is None else index

    def _add(
        self, tensor: Tensor, function: str, arguments: tuple[Number, ...], inputs: tuple[Any, ...]
    ) -> Number:
        self.values.append(Value(tensor, function, arguments, inputs))
        self._numbers[id(tensor)] = len(self.values) - 1
        return len(self.values) - 1

    def hooks(self, model: nn.Module) -> list[Registration]:
        """Return hooks of all modules, which note their runs."""
        return [
            registration
            for module in (*model.modules(), *own_projections(model))
            for registration in (
                (partial(module.register_forward_pre_hook, with_kwargs=True), self._enter),
                (module.register_forward_hook, self._leave),
            )
        ]

    def _enter(self, module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        by_slot: dict[Any, Any] = dict(enumerate(args))
        by_slot |= options
        numbers = {
            slot: self.number(value) for slot, value in by_slot.items() if isinstance(value, Tensor)
        }
        self._open.append((numbers, len(self.values)))

    def _leave(self, module: nn.Module, _: object, output: Any) -> None:
        inputs, begin = self._open.pop()
        tensor = first_tensor(output)
        number = None if tensor is None else self.number(tensor)
        self.runs.append(Run(module, inputs, number, begin, len(self.values)))


class Graph:
    """Graph of the computations of one pass, with methods to walk it."""

    def __init__(self, recorded: PassGraph, inputs: Mapping[str, Any]) -> None:
        self.values = recorded.values
        self.runs = recorded.runs
        self._readers: dict[Number, list[Number]] = defaultdict(list)
        self._roots: list[Number] = []
        self._members: dict[Number, list[Number]] = defaultdict(list)
        self._varies: list[bool] = []
        input_ids = {id(tensor) for tensor in inputs.values() if isinstance(tensor, Tensor)}
        for number, value in enumerate(self.values):
            for argument in set(value.arguments):
                self._readers[argument].append(number)
            self._roots.append(self._root(number, value))
            self._members[self._roots[-1]].append(number)
            varies = any(self._varies[source] for source in value.arguments)
            self._varies.append(varies or id(value.tensor) in input_ids)
        self._starts: dict[Number, list[Run]] = defaultdict(list)
        for run in self.runs:
            if run.given:
                self._starts[self._roots[next(iter(run.given.values()))]].append(run)

    def _root(self, number: Number, value: Value) -> Number:
        """Return the value that holds the same numbers, in another form perhaps."""
        for argument in value.arguments[:1]:  # views and casts take their tensor first
            if same_numbers(self.values[argument].tensor, value.tensor):
                return self._roots[argument]
        return number

    def root(self, number: Number) -> Number:
        """Return the first value that holds the same numbers."""
        return self._roots[number]

    def tensor(self, number: Number) -> Tensor:
        """Return the tensor of a value."""
        return self.values[number].tensor

    def varies(self, number: Number) -> bool:
        """Return whether a value depends on the input of the model."""
        return self._varies[number]

    def readers(self, root: Number) -> list[Number]:
        """Return the values made from a value, except those that are the same in another form."""
        return sorted(
            {
                reader
                for member in self._members[root]
                for reader in self._readers[member]
                if self._roots[reader] != root
            }
        )

    def readers_of(self, root: Number) -> list[Run]:
        """Return the runs of modules whose first input is a value; the shortest come first."""
        return sorted(self._starts[root], key=lambda run: run.end - run.begin)

    def comes_from(self, number: Number, source: Number) -> bool:
        """Return whether a value was made from another, directly or not."""
        pending, visited = [number], {number}
        while pending:
            current = pending.pop()
            if current == source:
                return True
            for argument in self.values[current].arguments:
                # What was made before the source cannot come from it.
                if argument >= source and argument not in visited:
                    visited.add(argument)
                    pending.append(argument)
        return False


def record_graph(model: nn.Module, inputs: Mapping[str, Any]) -> Graph:
    """Run a model once, and return the graph of the pass."""
    recorded = PassGraph()
    with hooked(recorded.hooks(model)), torch.no_grad(), own_code_seen(model), recorded:
        for tensor in inputs.values():
            if isinstance(tensor, Tensor):
                recorded.number(tensor)
        model(**inputs)
    return Graph(recorded, inputs)


def same_numbers(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors hold the same numbers in the same order."""
    if first.numel() != second.numel() or first.device != second.device:
        return False
    if first.dtype.is_floating_point != second.dtype.is_floating_point:
        return False
    return torch.equal(first.flatten(), second.flatten().to(first.dtype))
