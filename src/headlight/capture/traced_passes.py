"""Listeners of traced passes, which record every call of the interface hook or change it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headlight.capture.attention_interface import eager_function
from headlight.capture.attention_masks import visible_keys
from headlight.capture.custom_attention.products import context_with
from headlight.capture.custom_attention.projection import own_projections, routes
from headlight.capture.hooks import hooked
from headlight.capture.output_projection import TOLERANCE
from headlight.capture.query_blocks import can_be_blocked
from headlight.capture.recorder import interface_hook
from headlight.capture.tensor_parallel import agreed, gathered, sharing_heads
from headlight.errors import UnsupportedModelError
from headlight.tensors import Visible, Weight

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


Linear = nn.Linear | Conv1D


@dataclass(eq=False)
class Call:
    """One call of the interface hook during the traced pass."""

    module: nn.Module
    context: Tensor
    """Contexts of the heads of this process; the other tensors are of all heads."""
    all_contexts: Tensor
    weight: Tensor
    value: Tensor
    source: nn.Module | None
    visible: Visible | None
    processes: "ProcessGroup | None"
    blocks: bool
    projection: nn.Module | None = None
    projected: Tensor | None = None
    sequence_first: bool = False
    gate: Tensor | None = None
    """Factor of the context before it is projected; of the heads of this process."""
    projected_twice: bool = False
    after: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list)
    """Linear maps that ran next, with input and output, while none was the projection."""


class Tracer:
    """Listener that records every call, and every linear map around it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._outputs: list[tuple[nn.Module, Tensor]] = []

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention and record the call.

        Raises:
            UnsupportedModelError: eager attention returns no weights.
        """
        function, value = eager_function(module), arguments[2]
        context, weight = function(module, *arguments, **options)
        if weight is None:
            raise UnsupportedModelError(
                f"the eager attention of {type(module).__name__} returns no weights."
            )
        processes = sharing_heads(module, context)
        route = routes.get(module)
        blocks = can_be_blocked(function, module, arguments, options, (context, weight))
        call = Call(
            module=module,
            context=context,
            all_contexts=gathered(context, processes, 2),
            weight=gathered(weight, processes),
            value=gathered(value, processes),
            source=None if route and route.sequence_first else self._source_of(value),
            visible=visible_keys(arguments, options, weight),
            processes=processes,
            blocks=agreed(blocks, processes, value.device),
            projection=None if route is None else route.projection,
            sequence_first=route is not None and route.sequence_first,
        )
        self.calls.append(call)
        self._outputs.clear()
        return context, weight

    def linear(self, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Note the run of a linear map (a forward hook), which may be the projection of a call."""
        self._outputs.append((module, output))
        if self.calls and module is self.calls[-1].projection:
            projected = self.calls[-1].projected
            again = projected is not None and inputs and _same_numbers(inputs[0], projected)
            self.calls[-1].projected_twice |= bool(again)
        if self.calls and self.calls[-1].projected is None and inputs:
            call = self.calls[-1]
            if call.projection is not None:
                call.projected = output if module is call.projection else None
                return
            call.after.append((module, inputs[0], output))
            if _same_numbers(inputs[0], call.context):
                call.projection, call.projected = module, output
                call.after.clear()

    def _source_of(self, value: Tensor) -> nn.Module | None:
        """Return the linear map whose output shares memory, or all numbers, with `value`."""
        # Shared memory is certain, and is asked first; copies can be told by their numbers alone.
        for module, output in reversed(self._outputs):
            if output.untyped_storage().data_ptr() == value.untyped_storage().data_ptr():
                return module
        flat = value.transpose(1, 2)
        for module, output in reversed(self._outputs):
            if _same_numbers(output, flat):
                return module
        return None


class Reweighted(Tracer):
    """Listener that replaces the weights of a model by others, made of its own."""

    def __init__(self, change: Callable[[Weight], Weight]) -> None:
        super().__init__()
        self._change = change

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention, and return the context of the other weights."""
        context, weight = super().attend(module, arguments, options)
        assert weight is not None  # noqa: S101 - others are refused
        new_context = context_with(self._change(weight), arguments, options)
        self.calls[-1].context = new_context.reshape(context.shape).contiguous()
        return self.calls[-1].context, weight


class Silenced(Tracer):
    """Listener to a model with x = 0 at every source, so that the values are the value biases."""

    def __init__(self, sources: set[nn.Module]) -> None:
        super().__init__()
        self._sources = sources

    def silence(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Give zeros to a source of values, as a forward pre-hook."""
        if module not in self._sources or not inputs:
            return None
        return (torch.zeros_like(inputs[0]), *inputs[1:])


class Substituted:
    """Listener that puts out other contexts, while their projections put out the same as before.

    A projection that is not known yet is looked for: among the linear maps that run next it is the
    first whose input was the context times what its input is now.

    Args:
        calls: Calls of the traced pass.
        contexts: Contexts that some calls put out instead, by number.
    """

    def __init__(self, calls: list[Call], contexts: Mapping[int, Tensor]) -> None:
        self.received: dict[int, Tensor] = {}
        """Inputs of the projections, by number of the call."""
        self._calls = calls
        self._contexts = contexts
        self._next = 0
        self._place = 0

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Return another context, or that of the traced pass."""
        call = self._calls[self._next]
        context = self._contexts.get(self._next, call.context)
        self._next += 1
        self._place = 0
        return context, call.weight

    def restore(self, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor | None:
        """Restore the output of a projection (a forward hook); its other runs stay as they are."""
        if not self._next:
            return None
        number, call = self._next - 1, self._calls[self._next - 1]
        if call.projection is None and inputs:
            self._find(call, module, inputs[0])
        if call.projection is not module:
            return None
        if number not in self.received:
            self.received[number] = inputs[0]
        return call.projected

    def _find(self, call: Call, module: nn.Module, tensor: Tensor) -> None:
        if self._place >= len(call.after) or call.after[self._place][0] is not module:
            return
        _, before, output = call.after[self._place]
        self._place += 1
        if tensor.numel() != call.context.numel() or tensor.numel() != before.numel():
            return
        gate = tensor.reshape(call.context.shape)
        if nearly(call.context * gate, before.reshape(call.context.shape)):
            call.projection, call.projected, call.gate = module, output, gate


def linear_maps(model: nn.Module) -> list[nn.Module]:
    """Return the modules that contexts may be projected by."""
    inside = [module for module in model.modules() if isinstance(module, Linear)]
    return [*inside, *own_projections(model)]


def run_substituted(
    model: nn.Module, inputs: Mapping[str, Any], calls: list[Call], contexts: Mapping[int, Tensor]
) -> tuple[Substituted, Tensor]:
    """Run a model with other contexts, and return the listener and the output."""
    listener = Substituted(calls, contexts)
    hooks = [(module.register_forward_hook, listener.restore) for module in linear_maps(model)]
    with hooked(hooks), torch.no_grad(), interface_hook(model, listener):
        return listener, output_of(model, inputs)


def output_of(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """Return the output of the last layer, of a model or of a backbone, which gives several."""
    output = model(**inputs)[0]
    last: Tensor = output[-1] if isinstance(output, tuple) else output
    return last


def _same_numbers(first: Tensor, second: Tensor) -> bool:
    if first.numel() != second.numel() or first.device != second.device:
        return False
    return torch.equal(first.flatten(), second.flatten())


def nearly(actual: Tensor, wanted: Tensor) -> bool:
    """Return whether tensors are equal up to rounding, by the norm of their difference."""
    exact = wanted.cpu().double()
    error = (actual.cpu().double() - exact).norm() / exact.norm().clamp_min(1e-300)
    return float(error) <= TOLERANCE.get(wanted.dtype, 1e-1) / 10
