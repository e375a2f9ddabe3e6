"""The model of transformers inside what PyTorch may have wrapped around it."""

from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headlight.errors import UsageError

_INNER = {
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}
"""Where wrappers keep the model that they run: compiled, or in copies on several devices."""


def unwrapped(network: nn.Module) -> PreTrainedModel:
    """The model that is wrapped, or the model itself.

    Raises:
        UsageError: it is none of transformers, or its parts are compiled, which hides attention.
    """
    given = network
    while (inner := _INNER.get(type(network).__name__)) is not None:
        network = getattr(network, inner)
    if not isinstance(network, PreTrainedModel):
        raise UsageError(f"a {type(network).__name__} is no model of transformers; {_cure(given)}.")
    _check_loaded(network)
    for name, module in network.named_modules():
        if _is_compiled(module):
            raise UsageError(
                f"{name or 'the model'} is compiled, so its attention cannot be seen; give the "
                "model as it was before torch.compile."
            )
    return network


def holder_of_model(given: Any) -> str | None:
    """Return where an object keeps a model of transformers, as ``model.attribute``.

    None where it keeps none.
    """
    modules = given.named_modules() if isinstance(given, nn.Module) else _attributes(given)
    for name, module in modules:
        if isinstance(module, PreTrainedModel):
            parts = (f"[{part}]" if part.isdigit() else f".{part}" for part in name.split("."))
            return f"model{''.join(parts)}"
    return None


def _attributes(given: Any) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules that an object which is no module holds: a pipeline, or a trainer."""
    for name, value in getattr(given, "__dict__", {}).items():
        if isinstance(value, nn.Module):
            yield from (
                (f"{name}.{inner}".rstrip("."), each) for inner, each in value.named_modules()
            )


def _cure(given: nn.Module) -> str:
    if any(hasattr(module, "merge_and_unload") for module in given.modules()):
        return "give what its method merge_and_unload returns, with its adapter merged"
    place = holder_of_model(given)
    if place:
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
