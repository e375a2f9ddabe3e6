"""The record of one layer's attention, also of a layer that is split over devices.

Models of which each process has some of the heads, and what all of them made of a batch.
Tensor parallelism of transformers gives each process whole heads: those of the first come first.
What they make is gathered when it is recorded, so that every process has the attention of all
heads, and measures need not know of it.  So each process has to do the same at the same time:
where one asks for what others do not, it waits for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, distributed, nn

from headlight.capture.residual_stream import Residual
from headlight.errors import UnsupportedModelError, UsageError
from headlight.tensors import Factor, GateValues, OutputWeight, Overlap, Value, Visible, Weight
from headlight.vocabulary import Kind

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Allowed relative error of Eq. 3, by the precision of the model."""

_HEADS = {"num_attention_heads": "heads", "num_key_value_heads": "key-value heads"}


def is_split(weight: object) -> bool:
    """Whether a process has only a part of a weight."""
    return hasattr(weight, "full_tensor")


def whole_weight(weight: Tensor) -> Tensor:
    """All numbers of a weight, gathered if this process has only a part of them."""
    if not is_split(weight):
        return weight.detach()
    split: Any = weight
    with torch.inference_mode(mode=False), torch.no_grad():  # which wrappers of parts cannot enter
        tensor: Tensor = split.full_tensor()
    return tensor.detach()


def processes_of(network: nn.Module) -> "ProcessGroup | None":
    """The processes that run a model, or a part of it, together; None if this one has all of it."""
    for weight in _added_up(network):
        group: ProcessGroup = weight.device_mesh.get_group()
        return group
    return None


def sharing_heads(module: nn.Module, context: Tensor) -> "ProcessGroup | None":
    """The processes that share the heads of an attention module; None if each has all.

    Each has all where queries, keys and values are made by one map, which is split elsewhere.
    """
    width = context[0, 0].numel()
    each_has_all = any(weight.shape[1] == width for weight in _added_up(module))
    return None if each_has_all else processes_of(module)


def _added_up(network: nn.Module) -> Iterator[Any]:
    """Weights that are split along their inputs, so that what the processes make is added up."""
    for weight in network.parameters():
        split: Any = weight
        if is_split(weight) and any(place.is_shard(1) for place in split.placements):
            yield split


def gathered(part: Tensor, processes: "ProcessGroup | None", axis: int = 1) -> Tensor:
    """The parts of all processes, joined along an axis in their order; of None, the part itself."""
    if processes is None:
        return part
    parts = [torch.empty_like(part, memory_format=torch.contiguous_format)]
    parts += [torch.empty_like(parts[0]) for _ in range(processes.size() - 1)]
    distributed.all_gather(parts, part.contiguous(), group=processes)
    return torch.cat(parts, axis)


def agreed(answer: bool, processes: "ProcessGroup | None", device: torch.device) -> bool:
    """Whether all processes say yes, who talk by way of this device."""
    if processes is None:
        return answer
    return bool(gathered(torch.tensor([answer], device=device), processes, 0).all())


def check_split_by_heads(model: nn.Module) -> None:
    """Refuse weights that are split otherwise, in every process and before anything runs.

    Raises:
        UnsupportedModelError: they are, or the number of heads does not allow it.
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
        model: that would do it.
        what: as the subject of a sentence: ``gradients``.

    Raises:
        UnsupportedModelError: each process has some.
    """
    if any(is_split(weight) for weight in model.parameters()):
        raise UnsupportedModelError(
            f"{what} are not supported where each process has some of the heads (tensor "
            "parallelism); load the model with device_map, which keeps layers whole (balanced)."
        )


KEPT_WIDTH = 4096
"""Up to this many rows of W^O (64 MB a layer), the overlap of its heads is computed only once."""

Gate = Literal["head", "element"]
"""Factor of the context before W^O: a number for each query and head, or a vector for each.  It
does not depend on what the heads compute."""


@dataclass(frozen=True, eq=False)
class Projection:
    """W^O and b^O of one attention module, cut into heads, with what is derived from them once.

    R is kept, and so is the overlap while it is small: of wide models it is as large as W^O in
    float32, for every layer.

    Attributes:
        module: the linear map.
        name: of the module.
        heads: how many it mixes.
        home: where measures are computed, if that can be another device than the module's.
    """

    module: nn.Module
    name: str
    heads: int
    home: torch.device | None = None

    @property
    def weight(self) -> OutputWeight:
        """W^O as ``head head_dim d_model``, in the model's own precision."""
        stored = self._parameter("weight")
        assert stored is not None  # noqa: S101 - every linear map has one
        matrix: Tensor = stored.T if isinstance(self.module, nn.Linear) else stored
        return matrix.reshape(self.heads, -1, matrix.shape[1])

    @property
    def bias(self) -> Float[Tensor, "d_model"] | None:
        """b^O, or nothing."""
        return self._parameter("bias")

    def _parameter(self, name: str) -> Tensor | None:
        stored = getattr(self.module, name, None)
        if not isinstance(stored, Tensor):
            return None
        detached = whole_weight(stored)
        return detached if self.home is None else detached.to(self.home)

    @cached_property
    def factor(self) -> Factor:
        """R_h with W_h W_hᵀ = R_h R_hᵀ, by a QR decomposition of W_hᵀ in float64."""
        factor: Tensor = torch.linalg.qr(on_double(self.weight).mT, mode="r")[1].mT
        return factor.contiguous()

    @cached_property
    def condition(self) -> float:
        """The largest condition number of R of a head."""
        condition: Tensor = torch.linalg.cond(self.factor)
        return float(condition.max())

    @property
    def overlap(self) -> Overlap:
        """Q Qᵀ of all heads in float32, where W_h = R_h Q_h; between −1 and 1.

        In float64 where W^O is.
        """
        weight = self.weight
        if weight[..., 0].numel() <= KEPT_WIDTH:
            return self._kept_overlap
        return overlap_of(weight).to(self._precision)

    @cached_property
    def _kept_overlap(self) -> Overlap:
        return overlap_of(self.weight).to(self._precision)

    @property
    def _precision(self) -> torch.dtype:
        return torch.promote_types(self.weight.dtype, torch.float32)


def overlap_of(weight: OutputWeight) -> Overlap:
    """Q Qᵀ of all heads in float64, where W_h = R_h Q_h with orthonormal rows in Q_h."""
    basis: Tensor = torch.linalg.qr(on_double(weight).mT)[0].mT.flatten(0, 1)
    return basis @ basis.T


def on_double(weight: Tensor) -> Tensor:
    """In float64; on the CPU where the device has none (MPS)."""
    return weight.cpu().double() if weight.device.type == "mps" else weight.double()


@dataclass(frozen=True, eq=False)
class AttentionSite:
    """One run of one attention module within a forward pass, found by tracing.

    A module that several layers share has as many sites; ``layer`` counts the sites of one kind in
    the order in which they run.
    """

    module: nn.Module
    name: str
    kind: Kind
    layer: int
    heads: int
    kv_heads: int
    head_dim: int
    projection: Projection
    source: nn.Module | None
    """The linear map that makes the values; its input is x."""
    value_bias: Float[Tensor, "kv_head head_dim"] | None
    """b^V; None where the source of the values could not be found."""
    error: float
    """Relative error of Kobayashi's Eq. 3 in the traced pass."""
    blocks: bool = True
    """Whether its attention can be computed for some queries at a time."""
    gate: Gate | None = None
    """Factor of the context before it is projected, if any."""
    processes: "ProcessGroup | None" = None
    """Processes that share its heads; None where this one has all."""

    sequence_first: bool = False
    """Whether hidden states are ``token batch size`` in its model."""

    @property
    def own_number(self) -> int | None:
        """Return the number of the layer in the name of the module; None without exactly one."""
        numbers = [int(part) for part in self.name.split(".") if part.isdigit()]
        return numbers[0] if len(numbers) == 1 else None

    def all_heads(self, part: Tensor, axis: int = 1) -> Tensor:
        """Gather all heads from those of this process; heads are along `axis`."""
        return gathered(part, self.processes, axis)

    def require_head(self, head: int) -> None:
        """Refuse a head that it does not have.

        Raises:
            UsageError: it is so.
        """
        if not 0 <= head < self.heads:
            raise UsageError(
                f"{self.kind} layer {self.layer} has no head {head}: its heads are 0 to "
                f"{self.heads - 1}."
            )


@dataclass(frozen=True, eq=False)
class QueryBlock:
    """Block of queries of a text, where a record is about a part of them.

    Records of one layer come in the order of their queries, and hold the keys up to the last that
    one of these can see.

    Attributes:
        first: the number of its first query.
        queries: of the whole text.
        value: v(x) of all keys.
        real: which keys the last query of the text sees; None for all.
        input: x of all keys.
    """

    first: int
    queries: int
    value: Value
    real: Bool[Tensor, "batch key"] | None
    input: Float[Tensor, "batch key d_input"] | None


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """Record of one attention module on one batch; all that a measure may need.

    Attributes:
        site: where in the model.
        weight: α as the attention function made it, in the model's precision.
        value: v(x) with the value bias.
        visible: which keys each query may attend to; None where every query sees every key.
        input: x, what the values are made from; None where it could not be found.
        gradient: ∂L/∂α of a loss; None unless the model was run backward.
        attribution: what the key's input token contributes to the query's hidden token at the
            output of the block; None unless contributions were computed.
        block: which queries these are; None for all.
        gate: what the context of each query is multiplied by before W^O; None if by nothing.
        residual: what the output of the attention is added to, and that output, of its queries;
            None unless the residual was asked for.
        stream: what entered the block, of all attending tokens, before anything normalised it; None
            unless it was asked for and found.
    """

    site: AttentionSite
    weight: Weight
    value: Value
    visible: Visible | None = None
    input: Float[Tensor, "batch key d_input"] | None = field(default=None, repr=False)
    gradient: Weight | None = field(default=None, repr=False)
    attribution: Float[Tensor, "batch query key"] | None = field(default=None, repr=False)
    block: QueryBlock | None = field(default=None, repr=False)
    gate: GateValues | None = field(default=None, repr=False)
    residual: Residual | None = field(default=None, repr=False)
    stream: Float[Tensor, "batch token d_stream"] | None = field(default=None, repr=False)

    @property
    def first(self) -> int:
        """The number of the first query."""
        return 0 if self.block is None else self.block.first

    @property
    def ends(self) -> bool:
        """Whether no more queries of the layer follow."""
        return self.block is None or self.first + self.weight.shape[2] == self.block.queries

    def on(self, device: torch.device) -> "LayerRecord":
        """Return the record with all its numbers on one device, where the measures are computed."""
        if self.weight.device == device:
            return self
        block = self.block and replace(self.block, **_moved(self.block, device))
        residual = self.residual and self.residual.to(device)
        return replace(self, **_moved(self, device), block=block, residual=residual)


def _moved(record: object, device: torch.device) -> dict[str, Any]:
    return {
        name: part.to(device) for name, part in vars(record).items() if isinstance(part, Tensor)
    }
