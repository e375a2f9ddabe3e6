"""Output projection W^O of one attention module, cut into heads."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.capture.tensor_parallel import whole_weight
from headlight.tensors import Factor, OutputWeight, Overlap

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Allowed relative error of Eq. 3, by the precision of the model."""

KEPT_WIDTH = 4096
"""Rows of W^O (64 MB a layer) up to which the overlap of its heads is computed only once."""


@dataclass(frozen=True, eq=False)
class Projection:
    """W^O and b^O of one attention module, cut into heads, with what is derived from them once.

    R is kept, and so is the overlap while it is small: in wide models it is as large as W^O in
    float32, for every layer.

    Attributes:
        module: Linear map W^O.
        name: Name of the module.
        heads: Number of heads that it mixes.
        home: Device on which measures are computed, if that can be another than the module's.
    """

    module: nn.Module
    name: str
    heads: int
    home: torch.device | None = None

    @property
    def weight(self) -> OutputWeight:
        """Return W^O as ``head head_dim d_model``, in the model's own precision."""
        stored = self._parameter("weight")
        assert stored is not None  # noqa: S101 - every linear map has one
        matrix: Tensor = stored.T if isinstance(self.module, nn.Linear) else stored
        return matrix.reshape(self.heads, -1, matrix.shape[1])

    @property
    def bias(self) -> Float[Tensor, "d_model"] | None:
        """Return b^O; None if there is none."""
        return self._parameter("bias")

    def _parameter(self, name: str) -> Tensor | None:
        stored = getattr(self.module, name, None)
        if not isinstance(stored, Tensor):
            return None
        detached = whole_weight(stored)
        return detached if self.home is None else detached.to(self.home)

    @cached_property
    def factor(self) -> Factor:
        """Return R_h with W_h W_hᵀ = R_h R_hᵀ, by a QR decomposition of W_hᵀ in float64."""
        factor: Tensor = torch.linalg.qr(on_double(self.weight).mT, mode="r")[1].mT
        return factor.contiguous()

    @cached_property
    def condition(self) -> float:
        """Return the largest condition number of R of a head."""
        condition: Tensor = torch.linalg.cond(self.factor)
        return float(condition.max())

    @property
    def overlap(self) -> Overlap:
        """Return Q Qᵀ of all heads in float32, where W_h = R_h Q_h; between −1 and 1.

        It is in float64 where W^O is.
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
    """Return Q Qᵀ of all heads in float64, where W_h = R_h Q_h with orthonormal rows in Q_h."""
    basis: Tensor = torch.linalg.qr(on_double(weight).mT)[0].mT.flatten(0, 1)
    return basis @ basis.T


def on_double(weight: Tensor) -> Tensor:
    """Return a tensor in float64; on the CPU where its device has no float64 (MPS)."""
    return weight.cpu().double() if weight.device.type == "mps" else weight.double()
