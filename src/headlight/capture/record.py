"""Record of one attention module on one batch."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture.attention_site import AttentionSite
from headlight.capture.residual_connection import Residual
from headlight.tensors import GateValues, Value, Visible, Weight


@dataclass(frozen=True, eq=False)
class QueryBlock:
    """Block of queries of a text, where a record is about a part of them.

    Records of one layer come in the order of their queries, and hold the keys up to the last that
    any of their queries can see.

    Attributes:
        first: Number of its first query.
        queries: Number of queries of the whole text.
        value: Values v(x) of all keys.
        real: Keys that the last query of the text sees; None for all.
        input: Vectors x of all keys.
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
        site: Site of the attention in the model.
        weight: Weights α as the attention function made them, in the model's precision.
        value: Values v(x) with the value bias.
        visible: Keys that each query may attend to; None where every query sees every key.
        input: Vectors x that the values are made from; None where they could not be found.
        gradient: Gradient ∂L/∂α of a loss; None unless the model was run backward.
        attribution: Contribution of the key's input token to the query's hidden token at the output
            of the block; None unless contributions were computed.
        block: Block of queries of the record; None for all.
        gate: Factor of the context of each query before W^O; None if there is none.
        residual: Vectors to which the output of the attention is added, and that output, of its
            queries; None unless the residual was requested.
        stream: Vectors that entered the block, of all attending tokens, before anything normalised
            them; None unless they were requested and found.
        difference: Relative difference of a kernel's results at the site, for which the kernel was
            refused; None where no kernel was.
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
    difference: float | None = field(default=None, repr=False)

    @property
    def shape(self) -> torch.Size:
        """Return the numbers of texts, heads, queries and keys."""
        return self.weight.shape

    @property
    def dtype(self) -> torch.dtype:
        """Return the precision of the weights."""
        return self.weight.dtype

    @property
    def real(self) -> Bool[Tensor, "batch key"] | None:
        """Return the keys that the last query sees, if there are as many queries; None for all."""
        block, visible = self.block, self.visible
        if block is not None:
            return block.real if block.queries == block.value.shape[2] else None
        return last_keys(visible)

    @property
    def visible_counts(self) -> Int[Tensor, "batch #query"] | None:
        """Return the number of keys that each query sees; None where every query sees all."""
        return None if self.visible is None else self.visible.sum(-1)

    def hides(self, queries: Tensor, keys: Tensor) -> bool:
        """Return whether weights of tokens on padding are known to be 0 without reading them.

        Args:
            queries: Mask ``batch query``; not 0 for queries that are tokens.
            keys: Mask ``batch key``; not 0 for keys that are tokens.
        """
        del queries, keys
        return False

    @property
    def first(self) -> int:
        """Return the number of the first query."""
        return 0 if self.block is None else self.block.first

    @property
    def ends(self) -> bool:
        """Return whether no more queries of the layer follow."""
        return self.block is None or self.first + self.shape[2] == self.block.queries

    def on(self, device: torch.device) -> "LayerRecord":
        """Return the record with all its numbers on one device, where the measures are computed."""
        if self.weight.device == device:
            return self
        block = self.block and replace(self.block, **_move_tensors(self.block, device))
        residual = self.residual and self.residual.to(device)
        return replace(self, **_move_tensors(self, device), block=block, residual=residual)


def _move_tensors(record: object, device: torch.device) -> dict[str, Any]:
    return {
        name: part.to(device) for name, part in vars(record).items() if isinstance(part, Tensor)
    }


def last_keys(visible: Visible | None) -> Bool[Tensor, "batch key"] | None:
    """Return the keys that the last query sees, if there are as many queries as keys."""
    if visible is None or visible.shape[1] != visible.shape[2]:
        return None
    return visible[:, -1]
