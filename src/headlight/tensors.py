"""Shapes of tensors, whose axes are named once, and precisions.

``query`` is the attending position and ``key`` the attended one, also where both have one length.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Weight = Float[Tensor, "batch head query key"]
"""Attention weights α; each row over ``key`` sums to 1."""

Value = Float[Tensor, "batch kv_head key head_dim"]
"""Value vectors v(x), bias included; ``kv_head`` divides ``head``, since grouped heads share."""

OutputWeight = Float[Tensor, "head head_dim d_model"]
"""W^O, one block per head."""

Factor = Float[Tensor, "head head_dim head_dim"]
"""R_h of W_h = R_h Q_h with orthonormal rows in Q_h: ‖v W_h‖ = ‖v R_h‖ (float64)."""

Overlap = Float[Tensor, "inner inner"]
"""Q Qᵀ over all heads, ``inner`` = head × head_dim: how the spaces that heads write to overlap."""

GateValues = Float[Tensor, "batch head query gate"]
"""Factors of each query's context; ``gate`` is 1, or head_dim where each component has its own."""

Score = Float[Tensor, "batch head query key"]
"""One number per head and pair of positions."""

Visible = Bool[Tensor, "batch #query key"]
"""Whether a query may attend to a key; one row where all queries see the same."""


def single(tensor: Tensor) -> Tensor:
    """Return a tensor in float32, or float64 if it is in that."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def double(tensor: Tensor) -> Tensor:
    """Return a tensor in float64, on the CPU where its device has no such type (MPS)."""
    return tensor.cpu().double() if tensor.device.type == "mps" else tensor.double()


def widest(device: torch.device) -> torch.dtype:
    """Return the type in which sums over many rows are taken: float64, where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def back_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Move a tensor back to a device, in the best precision that the device has."""
    return tensor.float().to(device) if device.type == "mps" else tensor.to(device)
