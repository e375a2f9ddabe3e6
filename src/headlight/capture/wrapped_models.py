"""Models of transformers inside the wrappers of PyTorch, of PEFT, or of pipelines."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from headlight.catalogue.model_folders import why_not_merged
from headlight.errors import UnsupportedModelError, UsageError

_INNER = {
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}
"""Attributes in which wrappers keep their model: compiled, or in copies on several devices."""


def unwrap(network: nn.Module) -> PreTrainedModel:
    """Return the model that is wrapped, or the model itself.

    Raises:
        UsageError: the model is not of transformers, or its parts are compiled, which hides
            attention.
        UnsupportedModelError: the weights of the model are packed.
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
                (f"{name}.{inner}".rstrip("."), module) for inner, module in value.named_modules()
            )


def _cure(wrapped: nn.Module) -> str:
    if (reason := why_not_inside(wrapped)) is not None:
        return reason
    if any(hasattr(module, "merge_and_unload") for module in wrapped.modules()):
        return "give what its method merge_and_unload returns, with its adapter merged"
    if place := holder_of_model(wrapped):
        return f"give the model inside it, {place}"
    return "give one that is, or any module to headlight.wrap"


def _check_loaded(network: PreTrainedModel) -> None:
    """Refuse offloaded weights, which come and go with hooks: between them nothing can be read."""
    absent = next(
        (name for name, parameter in network.named_parameters() if parameter.device.type == "meta"),
        None,
    )
    if absent is not None:
        raise UsageError(
            f"{absent} is offloaded to the CPU or to disk, or was never loaded, so it cannot be "
            "read; load the model on devices that hold all of it (more of them, or dtype bfloat16)."
        )


def _is_compiled(module: Any) -> bool:
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or type(module).__name__ == "OptimizedModule"
