"""Interface hook: a function registered with transformers' attention interface.

While a model is captured its configuration names this function, and every attention module calls
it.  For the sites asked for, a listener runs the model's own eager function, so that soft caps,
sinks, position biases and windows stay the model's business.  For all other sites, for other models
that share the configuration, and for other threads, the hook computes what would have been computed
without Headlight.

Attention can also be replaced here, below the listener, so that a capture sees what the model then
works with (`headlight.capture.attention_replacement`).
"""

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headlight.capture.attention_masks import added_mask, with_sdpa_mask
from headlight.capture.query_blocks import AttentionFunction
from headlight.errors import UnsupportedModelError

IMPLEMENTATION = "headlight"
_TENSORS = ("query", "key", "value")
"""Names of the first arguments of every attention function."""


@runtime_checkable
class Listener(Protocol):
    """Callback for the attention of a model while the model runs."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention of `module`; called in place of the model's own function."""
        ...


@runtime_checkable
class AttentionReplacer(Protocol):
    """Callback that replaces the attention weights of a model by others."""

    active: bool
    """Whether it replaces anything at the moment."""

    def begin_module(self, module: nn.Module) -> None:
        """Note that the attention of `module` is about to run once."""
        ...

    def wrap(self, eager: AttentionFunction, usual: AttentionFunction) -> AttentionFunction:
        """Return a function that calls `usual`, or `eager` where weights are replaced."""
        ...


@dataclass
class _PatchedConfig:
    """Configuration that names the hook, with its own attention and the number of captures."""

    config: Any
    implementation: str | None
    captures: int = 0


_listeners: WeakKeyDictionary[nn.Module, tuple[int, Listener]] = WeakKeyDictionary()
_replacers: WeakKeyDictionary[nn.Module, tuple[int, AttentionReplacer]] = WeakKeyDictionary()
own_code: WeakKeyDictionary[nn.Module, tuple[AttentionFunction, AttentionFunction]] = (
    WeakKeyDictionary()
)
"""Functions of modules with attention in code of their own: the eager function, and their own."""
# By id: configurations are equal where their content is, and cannot be hashed.
_patched: dict[int, _PatchedConfig] = {}
_lock = threading.Lock()


def _forget_other_threads() -> None:
    """Drop the captures of other threads, none of which lives on in a forked process."""
    for table in (_listeners, _replacers):
        for module, (thread, _) in list(table.items()):
            if thread != threading.get_ident():
                del table[module]
    _lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    # Fork only when no other thread holds the lock, which would never open in the child.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget_other_threads
    )


def register() -> None:
    """Make the hook known to transformers; calling it again changes nothing."""
    AttentionInterface.register(IMPLEMENTATION, dispatch_attention)
    # The model's own eager functions expect masks to be added to the logits.
    AttentionMaskInterface.register(IMPLEMENTATION, added_mask)


def add_listener(model: nn.Module, listener: Listener) -> bool:
    """Send the attention of all modules of `model` to `listener`; False if there is one already."""
    modules = list(model.modules())
    with _lock:
        if any(module in _listeners for module in modules):
            return False
        _listeners.update({module: (threading.get_ident(), listener) for module in modules})
        return True


def listener_of(model: nn.Module) -> Listener | None:
    """Return the listener of `model` in this thread, if there is one."""
    thread, listener = _listeners.get(model, (None, None))
    return listener if thread == threading.get_ident() else None


def remove_listener(model: nn.Module) -> None:
    """Undo `add_listener`."""
    with _lock:
        for module in model.modules():
            _listeners.pop(module, None)


def has_listener(model: nn.Module) -> bool:
    """Return whether a part of `model` has a listener, in any thread."""
    return any(module in _listeners for module in model.modules())


def set_replacer(model: nn.Module, replacer: AttentionReplacer | None) -> None:
    """Let `replacer` replace the attention of `model` in this thread; None removes what is set."""
    with _lock:
        for module in model.modules():
            if replacer is None:
                _replacers.pop(module, None)
            else:
                _replacers[module] = threading.get_ident(), replacer


def replacer_of(module: nn.Module) -> AttentionReplacer | None:
    """Return the active replacer of `module` in this thread, if there is one."""
    thread, replacer = _replacers.get(module, (None, None))
    active = replacer is not None and replacer.active and thread == threading.get_ident()
    return replacer if active else None


@contextmanager
def suspend_replacements(model: nn.Module) -> Iterator[None]:
    """Suspend all replacements of the attention of `model` within the block."""
    replacers = {replacer_of(module) for module in model.modules()} - {None}
    try:
        for replacer in replacers:
            replacer.active = False  # type: ignore[union-attr]
        yield
    finally:
        for replacer in replacers:
            replacer.active = True  # type: ignore[union-attr]


def install(configs: Iterable[Any]) -> None:
    """Make the configurations name the hook; models may share one."""
    with _lock:
        for config in configs:
            before = config._attn_implementation_internal
            patched = _patched.setdefault(id(config), _PatchedConfig(config, before))
            patched.captures += 1
            # The property would set the configurations within this one as well.
            config._attn_implementation_internal = IMPLEMENTATION


def uninstall(configs: Iterable[Any]) -> None:
    """Undo `install`; the last to do so restores what a configuration named before the first."""
    with _lock:
        for config in configs:
            patched = _patched[id(config)]
            patched.captures -= 1
            if not patched.captures:
                config._attn_implementation_internal = patched.implementation
                del _patched[id(config)]


def eager_function(module: nn.Module) -> AttentionFunction:
    """Return the eager attention of the file that defines `module`, with any replacement applied.

    Raises:
        UnsupportedModelError: that file has no such function.
    """
    eager, replacer = _eager_beside(module), replacer_of(module)
    return replacer.wrap(eager, eager) if replacer else eager


def _eager_beside(module: nn.Module) -> AttentionFunction:
    if module in own_code:
        return own_code[module][0]
    for ancestor in type(module).__mro__:
        function = getattr(sys.modules[ancestor.__module__], "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise UnsupportedModelError(
        f"{type(module).__name__} has no eager attention function beside it, so its attention "
        "weights cannot be read."
    )


def configured_attention(config: Any) -> str | None:
    """Return the attention that a configuration names, or named before the hook."""
    patched = _patched.get(id(config))
    named: str | None = (
        patched.implementation if patched else getattr(config, "_attn_implementation", None)
    )
    return named


def uncaptured_function(module: nn.Module) -> AttentionFunction:
    """Return the function that `module` calls when not captured, if it takes additive masks.

    Only sdpa is passed through: the masks that other kernels expect differ.
    """
    named = configured_attention(getattr(module, "config", None))
    if module in own_code:
        function = own_code[module][1]
    else:
        function = _sdpa if named == "sdpa" else _eager_beside(module)
    replacer = replacer_of(module)
    return replacer.wrap(_eager_beside(module), function) if replacer else function


def _sdpa(module: nn.Module, *arguments: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
    arguments, options = with_sdpa_mask(arguments, options)
    output: tuple[Tensor, Tensor | None] = ALL_ATTENTION_FUNCTIONS["sdpa"](
        module, *arguments, **options
    )
    return output


def dispatch_attention(
    module: nn.Module, *arguments: Any, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """Compute attention as the hook, which a module calls or which stands for its own code."""
    # Some models pass the tensors by name.
    arguments += tuple(options.pop(name) for name in _TENSORS[len(arguments) :])
    if (replacer := replacer_of(module)) is not None:
        replacer.begin_module(module)
    thread, listener = _listeners.get(module, (None, None))
    if listener is None or thread != threading.get_ident():
        return uncaptured_function(module)(module, *arguments, **options)
    return listener.attend(module, arguments, options)
