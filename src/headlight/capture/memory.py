"""How it shows that memory has run out."""

import torch

_SIGNS = (
    *("can't allocate memory", "not enough memory", "out of memory", "alloc_failed"),
    "could not create a primitive",
)
"""What PyTorch says on a CPU of Linux or macOS, on one of Windows, on others; cuBLAS; oneDNN."""


def out_of_memory(error: BaseException) -> bool:
    """Whether less at once may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in message for sign in _SIGNS)
