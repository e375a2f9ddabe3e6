"""In which precision to compute, and what to do on devices that lack it."""

import torch
from torch import Tensor


def single(tensor: Tensor) -> Tensor:
    """At least float32."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def double(tensor: Tensor) -> Tensor:
    """float64; moved to the CPU from a device that has none (MPS)."""
    return tensor.cpu().double() if tensor.device.type == "mps" else tensor.double()


def back_to(tensor: Tensor, device: torch.device) -> Tensor:
    """On the device that it came from, in the best precision that the device has."""
    return tensor.float().to(device) if device.type == "mps" else tensor.to(device)
