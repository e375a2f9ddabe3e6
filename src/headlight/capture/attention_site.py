"""Attention site: one run of one attention module within a forward pass."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxtyping import Float
from torch import Tensor, nn

from headlight.capture.output_projection import Projection
from headlight.capture.tensor_parallel import gathered
from headlight.errors import UsageError
from headlight.vocabulary import Kind

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


Gate = Literal["head", "element"]
"""Factor of the context before W^O: for each query and head, a number or a vector.  It does not
depend on what the heads compute."""


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
        """Refuse a head that the site does not have.

        Raises:
            UsageError: the site has no such head.
        """
        if not 0 <= head < self.heads:
            raise UsageError(
                f"{self.kind} layer {self.layer} has no head {head}: its heads are 0 to "
                f"{self.heads - 1}."
            )
