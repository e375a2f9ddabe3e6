"""Record of one attention module on one batch."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.capture.residual import Residual
from headlight.capture.tensor_parallel import gathered, whole_weight
from headlight.errors import UsageError
from headlight.shapes import Factor, GateValues, OutputWeight, Overlap, Value, Visible, Weight
from headlight.vocabulary import Kind

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

KEPT_WIDTH = 4096
"""Up to this many rows of W^O (64 MB a layer), the overlap of its heads is computed only once."""

Gate = Literal["head", "element"]
"""What a model multiplies the context by before W^O: a number for each query and head, or a vector
for each.  It does not depend on what the heads compute."""


def as_context(given: Tensor, context: Tensor) -> Tensor:
    """Return the input of a projection, in the form of a context: ``batch query head head_dim``."""
    return given.reshape(context.shape)


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
    """What the context is multiplied by before it is projected, if anything."""
    processes: "ProcessGroup | None" = None
    """Those that share its heads; None where this one has all."""

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
