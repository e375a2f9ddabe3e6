"""Attention modules: what they hold, their identity, and modules that wrap others.

The interface hook: a function registered with transformers' attention interface.
While a model is captured its configuration names this function, and every attention module calls
it.  For the sites asked for, a listener runs the model's own eager function, so that soft caps,
sinks, position biases and windows stay the model's business.  For all other sites, for other models
that share the configuration, and for other threads, the hook computes what would have been computed
without Headlight.

Attention can also be replaced here, below the listener, so that a capture sees what the model then
works with (`headlight.capture.interventions`).
"""

import hashlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headlight.capture.query_blocks import AttentionFunction, added_mask, with_sdpa_mask
from headlight.capture.record import processes_of, whole_weight
from headlight.catalogue.model_folders import why_not_merged
from headlight.errors import UnsupportedModelError, UsageError

IMPLEMENTATION = "headlight"
_TENSORS = ("query", "key", "value")
"""Names of the first arguments of every attention function."""


@runtime_checkable
class Listener(Protocol):
    """A callback for the attention of a model while the model runs."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention of `module`; called in place of the model's own function."""
        ...


@runtime_checkable
class AttentionReplacer(Protocol):
    """A callback that replaces the attention weights of a model by others."""

    active: bool
    """Whether it replaces anything at the moment."""

    def begin_module(self, module: nn.Module) -> None:
        """The attention of `module` is about to run once."""
        ...

    def wrap(self, eager: AttentionFunction, own: AttentionFunction) -> AttentionFunction:
        """A function that calls `own`, or `eager` where weights are replaced."""
        ...


@dataclass
class _PatchedConfig:
    """A configuration that names the hook, what it named before, and how many captures use it."""

    config: Any
    implementation: str | None
    captures: int = 0


_listeners: WeakKeyDictionary[nn.Module, tuple[int, Listener]] = WeakKeyDictionary()
_replacers: WeakKeyDictionary[nn.Module, tuple[int, AttentionReplacer]] = WeakKeyDictionary()
own_code: WeakKeyDictionary[nn.Module, tuple[AttentionFunction, AttentionFunction]] = (
    WeakKeyDictionary()
)
"""The functions of modules with attention in code of their own: the eager one, and their own."""
_patched: dict[int, _PatchedConfig] = {}
_lock = threading.Lock()


def _forget_other_threads() -> None:
    """In a process that was forked no other thread lives on, and so no capture of another."""
    for table in (_listeners, _replacers):
        for module, (thread, _) in list(table.items()):
            if thread != threading.get_ident():
                del table[module]
    _lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    # Whatever another thread is about to do is done first: a lock that it held would never open.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget_other_threads
    )


def register() -> None:
    """Make the hook known to transformers; calling it again changes nothing."""
    AttentionInterface.register(IMPLEMENTATION, attend)
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
    """The listener of `model` in this thread, if there is one."""
    thread, listener = _listeners.get(model, (None, None))
    return listener if thread == threading.get_ident() else None


def remove_listener(model: nn.Module) -> None:
    """Undo `add_listener`."""
    with _lock:
        for module in model.modules():
            _listeners.pop(module, None)


def has_listener(model: nn.Module) -> bool:
    """Whether a part of `model` has a listener, in any thread."""
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
    """The active replacer of `module` in this thread, if there is one."""
    thread, replacer = _replacers.get(module, (None, None))
    active = replacer is not None and replacer.active and thread == threading.get_ident()
    return replacer if active else None


@contextmanager
def unreplaced(model: nn.Module) -> Iterator[None]:
    """Within the block, no attention of `model` is replaced."""
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
    """The eager attention of the file that defines `module`, with weights replaced if they are.

    Raises:
        UnsupportedModelError: that file has none.
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


def own_implementation(config: Any) -> str | None:
    """The attention that a configuration names, or named before the hook."""
    patched = _patched.get(id(config))
    named: str | None = (
        patched.implementation if patched else getattr(config, "_attn_implementation", None)
    )
    return named


def own_function(module: nn.Module) -> AttentionFunction:
    """Return the function that `module` calls when not captured, if it takes additive masks.

    Only sdpa is passed through: the masks that other kernels expect differ.
    """
    named = own_implementation(getattr(module, "config", None))
    if module in own_code:
        own = own_code[module][1]
    else:
        own = _sdpa if named == "sdpa" else _eager_beside(module)
    replacer = replacer_of(module)
    return replacer.wrap(_eager_beside(module), own) if replacer else own


def _sdpa(module: nn.Module, *arguments: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
    arguments, options = with_sdpa_mask(arguments, options)
    output: tuple[Tensor, Tensor | None] = ALL_ATTENTION_FUNCTIONS["sdpa"](
        module, *arguments, **options
    )
    return output


def attend(module: nn.Module, *arguments: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
    """The hook itself: what a module calls, or what stands for a call in its own code."""
    # Some models give them by name.
    arguments += tuple(options.pop(name) for name in _TENSORS[len(arguments) :])
    if (replacer := replacer_of(module)) is not None:
        replacer.begin_module(module)
    thread, listener = _listeners.get(module, (None, None))
    if listener is None or thread != threading.get_ident():
        return own_function(module)(module, *arguments, **options)
    return listener.attend(module, arguments, options)


_ABOUT_FILES = frozenset(
    {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"}
)
"""Fields of a configuration that say where it is from, or that `identity_of` has elsewhere."""

_BESIDE_CALLS = '"added_tokens":['
"""The text of a fast tokenizer behind truncation and padding, which any call sets, begins so."""

_SHOWN = 16


def identity_of(network: nn.Module, *, weights: str, tokenizer: str) -> dict[str, str]:
    """Everything of a model that results depend on: the same numbers come from the same identity.

    Where attention is replaced the identity is never seen again, since a function has no digest.

    Args:
        network: the model of transformers.
        weights: its `digest_of_weights` at this moment.
        tokenizer: its `digest_of_tokenizer`.
    """
    config: Any = network.config
    processes = processes_of(network)
    replaced = any(replacer_of(module) is not None for module in network.modules())
    return {
        "dtype": str(network.dtype).removeprefix("torch."),
        "weights": weights,
        "configuration": _digest_of_json(_described(config.to_dict())),
        "tokenizer": tokenizer,
        "attention_implementation": (
            f"replaced {secrets.token_hex(8)}" if replaced else str(own_implementation(config))
        ),
        **({} if processes is None else {"processes": str(processes.size())}),
    }


def is_dispensable(name: str) -> bool:
    """Weights that no attention depends on; checkpoints may lack them, and they are then random."""
    return "pooler" in name or name.endswith("masked_spec_embed")


def digest_of_weights(network: nn.Module) -> str:
    """A digest of the weights as they are in memory.

    A model that was trained on, or whose file was damaged, is another one.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(network.state_dict().items()):
        if not is_dispensable(name):
            digest.update(f"{name} {tuple(weight.shape)}".encode())
            whole: Any = whole_weight(weight)
            digest.update(whole.cpu().contiguous().flatten().view(torch.uint8).numpy())
    return shortened(digest)


def shortened(digest: Any) -> str:
    """A digest of SHA-256 as it is shown and compared."""
    return f"sha256:{digest.hexdigest()[:_SHOWN]}"


def _described(value: Any) -> Any:
    """A configuration, and those within it, without what is about files."""
    if isinstance(value, Mapping):
        return {str(k): _described(each) for k, each in value.items() if k not in _ABOUT_FILES}
    return value


def digest_of_tokenizer(tokenizer: Any) -> str:
    """A digest of what a tokenizer makes of texts, without what any call sets; "none" of None."""
    if tokenizer is None:
        return "none"
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        state = {"vocabulary": tokenizer.get_vocab(), "class": type(tokenizer).__name__}
    else:  # not parsed: to collect the garbage of a vocabulary takes longer than all else
        head, mark, rest = backend.to_str().partition(_BESIDE_CALLS)
        state = mark + rest if mark else head
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    limit = str(tokenizer.model_max_length)
    apart = {"split": True} if getattr(tokenizer, "split_special_tokens", False) else {}
    return _digest_of_json({"state": state, "special": special, "max_length": limit, **apart})


def _digest_of_json(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return shortened(hashlib.sha256(text.encode()))


_INNER = {
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}
"""Attributes in which wrappers keep their model: compiled, or in copies on several devices."""


def unwrapped(network: nn.Module) -> PreTrainedModel:
    """The model that is wrapped, or the model itself.

    Raises:
        UsageError: it is none of transformers, or its parts are compiled, which hides attention.
        UnsupportedModelError: its weights are packed.
    """
    part = network
    while (inner := _INNER.get(type(network).__name__)) is not None:
        network = getattr(network, inner)
    if not isinstance(network, PreTrainedModel):
        raise UsageError(f"a {type(network).__name__} is no model of transformers; {_cure(part)}.")
    _check_loaded(network)
    packed = next((k for k, v in network.state_dict().items() if not isinstance(v, Tensor)), None)
    if packed is not None:
        raise UnsupportedModelError(
            f"{packed} is no tensor (torch has packed what it quantised, say), so it cannot be "
            "read as numbers; give the model as it was before it was quantised."
        )
    for name, module in network.named_modules():
        if _is_compiled(module):
            raise UsageError(
                f"{name or 'the model'} is compiled, so its attention cannot be seen; give the "
                "model as it was before torch.compile."
            )
    return network


def holder_of_model(holder: Any) -> str | None:
    """Return where an object keeps a model of transformers, as ``model.attribute``.

    None where it keeps none.
    """
    for name, module in _named_modules(holder):
        if isinstance(module, PreTrainedModel):
            parts = (f"[{part}]" if part.isdigit() else f".{part}" for part in name.split("."))
            return f"model{''.join(parts)}"
    return None


def why_not_inside(holder: Any) -> str | None:
    """Return why the model that an object keeps is not what it computes; None where it may be.

    Adapters of PEFT may stand around a model, and not in its weights.
    """
    for _, module in _named_modules(holder):
        named = getattr(module, "peft_config", None)
        for adapter in named.values() if isinstance(named, Mapping) else ():
            kind = getattr(adapter, "peft_type", None)
            kind = getattr(kind, "value", kind)
            virtual_tokens = getattr(adapter, "num_virtual_tokens", None)
            if (reason := why_not_merged(kind, virtual_tokens)) is None:
                continue
            # Others are put into the layers of the model that they are made for.
            base = holder_of_model(holder) if virtual_tokens else "its base, loaded again,"
            return f"of its adapter ({kind}): {reason}; {base} can be read, without it"
    return None


def _named_modules(holder: Any) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules that an object holds: a module, or a pipeline, or a trainer."""
    if isinstance(holder, nn.Module):
        yield from holder.named_modules()
        return
    for name, value in getattr(holder, "__dict__", {}).items():
        if isinstance(value, nn.Module):
            yield from (
                (f"{name}.{inner}".rstrip("."), each) for inner, each in value.named_modules()
            )


def _cure(wrapped: nn.Module) -> str:
    if (reason := why_not_inside(wrapped)) is not None:
        return reason
    if any(hasattr(module, "merge_and_unload") for module in wrapped.modules()):
        return "give what its method merge_and_unload returns, with its adapter merged"
    if place := holder_of_model(wrapped):
        return f"give the model inside it, {place}"
    return "give one that is, or make it a PreTrainedModel, as the page Models supported shows"


def _check_loaded(network: PreTrainedModel) -> None:
    """Weights that are offloaded come and go with hooks; between them there is nothing to read."""
    absent = next(
        (name for name, each in network.named_parameters() if each.device.type == "meta"), None
    )
    if absent is not None:
        raise UsageError(
            f"{absent} is offloaded to the CPU or to disk, or was never loaded, so it cannot be "
            "read; load the model on devices that hold all of it (more of them, or dtype bfloat16)."
        )


def _is_compiled(module: Any) -> bool:
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or type(module).__name__ == "OptimizedModule"
