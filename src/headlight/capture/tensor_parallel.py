"""Models whose heads several processes share, and the gathering of what these computed.

Tensor parallelism of transformers gives each process whole heads: those of the first come first.
Their results are gathered when they are recorded, so that every process has the attention of all
heads, and measures need not know of the others.  So each process has to do the same at the same
time: where one requests what the others do not, it waits for them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed, nn

from headlight.errors import UnsupportedModelError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


_HEADS = {"num_attention_heads": "heads", "num_key_value_heads": "key-value heads"}


def is_split(weight: object) -> bool:
    """Return whether a process has only a part of a weight."""
    return hasattr(weight, "full_tensor")


def whole_weight(weight: Tensor) -> Tensor:
    """Return all numbers of a weight, gathered if this process has only a part of them."""
    if not is_split(weight):
        return weight.detach()
    split: Any = weight
    with torch.inference_mode(mode=False), torch.no_grad():  # which wrappers of parts cannot enter
        tensor: Tensor = split.full_tensor()
    return tensor.detach()


def processes_of(network: nn.Module) -> "ProcessGroup | None":
    """Return the processes that run a model, or a part of it, together; None if only this one."""
    for weight in _added_up(network):
        group: ProcessGroup = weight.device_mesh.get_group()
        return group
    return None


def sharing_heads(module: nn.Module, context: Tensor) -> "ProcessGroup | None":
    """Return the processes that share the heads of an attention module; None if each has all.

    Each process has all heads where one map makes queries, keys and values; it is split elsewhere.
    """
    width = context[0, 0].numel()
    each_has_all = any(weight.shape[1] == width for weight in _added_up(module))
    return None if each_has_all else processes_of(module)


def _added_up(network: nn.Module) -> Iterator[Any]:
    """Yield the weights that are split along their inputs, whose products are added up."""
    for weight in network.parameters():
        split: Any = weight
        if is_split(weight) and any(place.is_shard(1) for place in split.placements):
            yield split


def gathered(part: Tensor, processes: "ProcessGroup | None", axis: int = 1) -> Tensor:
    """Return the parts of all processes, joined along an axis in order; without any, the part."""
    if processes is None:
        return part
    parts = [torch.empty_like(part, memory_format=torch.contiguous_format)]
    parts += [torch.empty_like(parts[0]) for _ in range(processes.size() - 1)]
    distributed.all_gather(parts, part.contiguous(), group=processes)
    return torch.cat(parts, axis)


def agreed(answer: bool, processes: "ProcessGroup | None", device: torch.device) -> bool:
    """Return whether all processes say yes; they communicate by way of this device."""
    if processes is None:
        return answer
    return bool(gathered(torch.tensor([answer], device=device), processes, 0).all())


def check_split_by_heads(model: nn.Module) -> None:
    """Refuse weights that are split otherwise, in every process and before anything runs.

    Raises:
        UnsupportedModelError: weights are split otherwise, or the number of heads does not allow
            it.
    """
    split: list[tuple[str, Any]] = [
        (name, weight) for name, weight in model.named_parameters() if is_split(weight)
    ]
    if not split:
        return
    processes = processes_of(model)
    other = next((name for name, weight in split if weight.device_mesh.ndim > 1), None)
    if processes is None or other is not None:
        raise UnsupportedModelError(
            f"{other or split[0][0]} is split between processes otherwise than by heads; load the "
            "model with tensor parallelism alone (DistributedConfig(tp_size=…)), or with "
            "device_map, which keeps layers whole (balanced)."
        )
    config: Any = model.config
    for key, label in _HEADS.items():
        number = getattr(config.get_text_config(), key, None)
        if isinstance(number, int) and number % processes.size():
            raise UnsupportedModelError(
                f"the {number} {label} of this {type(model).__name__} cannot be shared by "
                f"{processes.size()} processes; take a number of processes that divides them."
            )


def require_all_heads(model: nn.Module, what: str) -> None:
    """Refuse what is not done where each process has some of the heads.

    Args:
        model: Model that would do it.
        what: Subject of the refusal, such as ``gradients``.

    Raises:
        UnsupportedModelError: each process has some of the heads.
    """
    if any(is_split(weight) for weight in model.parameters()):
        raise UnsupportedModelError(
            f"{what} are not supported where each process has some of the heads (tensor "
            "parallelism); load the model with device_map, which keeps layers whole (balanced)."
        )
