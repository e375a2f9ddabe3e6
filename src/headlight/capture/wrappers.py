"""The model of transformers inside what PyTorch may have wrapped around it."""

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
    while (inner := _INNER.get(type(network).__name__)) is not None:
        network = getattr(network, inner)
    if not isinstance(network, PreTrainedModel):
        raise UsageError(
            f"a {type(network).__name__} is no model of transformers; give the model inside it (of "
            "PEFT, what merge_and_unload returns)."
        )
    _check_loaded(network)
    for name, module in network.named_modules():
        if _is_compiled(module):
            raise UsageError(
                f"{name or 'the model'} is compiled, so its attention cannot be seen; give the "
                "model as it was before torch.compile."
            )
    return network


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
