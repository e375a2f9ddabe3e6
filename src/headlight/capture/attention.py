"""The one door: a function registered with transformers' attention interface.

While a model is captured its configuration names this function, and every attention module calls
it.  For the sites asked for it runs the model's own eager function, so that soft caps, sinks,
position biases and windows stay the model's business, and hands on what it saw.  For all others,
for other models that share the configuration, and for other threads it computes what would have
been computed without Headlight.

Attention can also be replaced here, beneath whoever listens, so that a capture sees what the model
then works with (`headlight.capture.replacement`).
"""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headlight.errors import UnsupportedModelError

IMPLEMENTATION = "headlight"

AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]


@runtime_checkable
class Listener(Protocol):
    """Whoever wants to see attention while a model runs."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention of `module` and look at it."""
        ...


@runtime_checkable
class Replacing(Protocol):
    """Whoever puts other weights in the place of a model's own."""

    active: bool
    """Whether it does so at the moment."""

    def arrive(self, module: nn.Module) -> None:
        """The attention of `module` is about to run once."""
        ...

    def around(self, eager: AttentionFunction, own: AttentionFunction) -> AttentionFunction:
        """`own`, but `eager` and then other weights where they are replaced."""
        ...


@dataclass
class _Held:
    """A configuration that names the door, what it named before, and for how many captures."""

    config: Any
    implementation: str | None
    captures: int = 0


_listeners: WeakKeyDictionary[nn.Module, tuple[int, Listener]] = WeakKeyDictionary()
_replacers: WeakKeyDictionary[nn.Module, tuple[int, Replacing]] = WeakKeyDictionary()
_held: dict[int, _Held] = {}
_lock = threading.Lock()


def register() -> None:
    """Make the door known to transformers; calling it again changes nothing."""
    AttentionInterface.register(IMPLEMENTATION, _attend)
    # The model's own eager functions expect masks to be added to the logits.
    AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def listen(model: nn.Module, listener: Listener) -> bool:
    """Send the attention of all modules of `model` to `listener`; False if one listens already."""
    modules = list(model.modules())
    with _lock:
        if any(module in _listeners for module in modules):
            return False
        _listeners.update({module: (threading.get_ident(), listener) for module in modules})
        return True


def listener_of(model: nn.Module) -> Listener | None:
    """Who listens to `model` in this thread; None if nobody does."""
    thread, listener = _listeners.get(model, (None, None))
    return listener if thread == threading.get_ident() else None


def forget(model: nn.Module) -> None:
    """Undo `listen`."""
    with _lock:
        for module in model.modules():
            _listeners.pop(module, None)


def is_listened_to(model: nn.Module) -> bool:
    """Whether somebody listens to a part of `model`, in any thread."""
    return any(module in _listeners for module in model.modules())


def replace_by(model: nn.Module, replacer: Replacing | None) -> None:
    """Let `replacer` see to all modules of `model` in this thread, instead of any other."""
    with _lock:
        for module in model.modules():
            if replacer is None:
                _replacers.pop(module, None)
            else:
                _replacers[module] = threading.get_ident(), replacer


def replacer_of(module: nn.Module) -> Replacing | None:
    """Who replaces the attention of `module` in this thread; None if nobody does."""
    thread, replacer = _replacers.get(module, (None, None))
    active = replacer is not None and replacer.active and thread == threading.get_ident()
    return replacer if active else None


@contextmanager
def unreplaced(model: nn.Module) -> Iterator[None]:
    """The attention of `model` is its own within the block, whatever replaces it outside."""
    replacers = {replacer_of(module) for module in model.modules()} - {None}
    try:
        for replacer in replacers:
            replacer.active = False  # type: ignore[union-attr]
        yield
    finally:
        for replacer in replacers:
            replacer.active = True  # type: ignore[union-attr]


def hold(configs: Iterable[Any]) -> None:
    """Make the configurations name the door; models that share one may each hold it."""
    with _lock:
        for config in configs:
            before = config._attn_implementation_internal
            held = _held.setdefault(id(config), _Held(config, before))
            held.captures += 1
            config._attn_implementation_internal = IMPLEMENTATION


def release(configs: Iterable[Any]) -> None:
    """Undo `hold`; the last to do so restores what a configuration named before the first."""
    with _lock:
        for config in configs:
            held = _held[id(config)]
            held.captures -= 1
            if not held.captures:
                config._attn_implementation_internal = held.implementation
                del _held[id(config)]


def eager_function(module: nn.Module) -> AttentionFunction:
    """The eager attention of the file that defines `module`, with weights replaced if they are.

    Raises:
        UnsupportedModelError: that file has none.
    """
    eager, replacer = _eager_beside(module), replacer_of(module)
    return replacer.around(eager, eager) if replacer else eager


def _eager_beside(module: nn.Module) -> AttentionFunction:
    for ancestor in type(module).__mro__:
        function = getattr(sys.modules[ancestor.__module__], "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise UnsupportedModelError(
        f"{type(module).__name__} has no eager attention function beside it, so its attention "
        "weights cannot be read."
    )


def own_function(module: nn.Module) -> AttentionFunction:
    """What `module` calls when nobody captures it, if that takes masks that are added.

    Only sdpa is passed through: the masks that other kernels expect differ.
    """
    config: Any = getattr(module, "config", None)
    held = _held.get(id(config))
    named = held.implementation if held else getattr(config, "_attn_implementation", None)
    own: AttentionFunction = (
        ALL_ATTENTION_FUNCTIONS["sdpa"] if named == "sdpa" else _eager_beside(module)
    )
    replacer = replacer_of(module)
    return replacer.around(_eager_beside(module), own) if replacer else own


def _attend(module: nn.Module, *arguments: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
    if (replacer := replacer_of(module)) is not None:
        replacer.arrive(module)
    thread, listener = _listeners.get(module, (None, None))
    if listener is None or thread != threading.get_ident():
        return own_function(module)(module, *arguments, **options)
    return listener.attend(module, arguments, options)
