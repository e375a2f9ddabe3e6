"""Hooks of modules that see the passes of one thread, for the time of a block.

A hook belongs to a module, and so sees what every thread does with it.  Other threads may run the
model while it is traced or captured, and must find it as it always was; so all hooks of Headlight
are set here.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

Registration = tuple[Callable[[Callable[..., Any]], Any], Callable[..., Any]]
"""Method of a module, such as ``register_forward_hook``, and the hook to register by it."""


@contextmanager
def hooked(registrations: Iterable[Registration]) -> Iterator[None]:
    """Let passes of this thread call these hooks within the block."""
    with ExitStack() as handles:
        for register, hook in registrations:
            handles.callback(register(_restrict_to_thread(hook)).remove)
        yield


def _restrict_to_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return the hook restricted to this thread; in others it does nothing."""
    thread = threading.get_ident()

    def guarded(*arguments: Any) -> Any:
        return hook(*arguments) if threading.get_ident() == thread else None

    return guarded


def first_tensor(output: Any) -> Tensor | None:
    """Return the output of a module, or the first of several."""
    if isinstance(output, tuple) and output:
        output = output[0]
    return output if isinstance(output, Tensor) else None


@dataclass(frozen=True)
class Place:
    """Site of a tensor that can be seen while the model runs.

    Attributes:
        module: Module that receives the tensor, or puts it out.
        name: Name of the module.
        slot: Position or name of the argument; None for the output, or the first of several.
    """

    module: nn.Module
    name: str
    slot: int | str | None

    def watch(self, see: Callable[[Tensor], object]) -> Registration:
        """Return a hook for `hooked` that passes each tensor to `see`."""

        def tell_output(_: nn.Module, __: object, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                see(tensor)

        def tell_argument(_: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
            by_slot: dict[Any, Any] = {**dict(enumerate(inputs)), **options}
            if isinstance(by_slot.get(self.slot), Tensor):
                see(by_slot[self.slot])

        if self.slot is None:
            return self.module.register_forward_hook, tell_output
        return partial(self.module.register_forward_pre_hook, with_kwargs=True), tell_argument
