"""Settings of torch for the time of a block: precision of products, autocast, threads."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from headlight.settings.attribution import MatrixPrecision


@contextmanager
def matrix_precision(name: MatrixPrecision) -> Iterator[None]:
    """Set the precision of products of float32 matrices, in the whole process within the block."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def own_precision(device: torch.device) -> Iterator[None]:
    """Switch off autocast of the host program within the block, on this device and the CPU.

    Autocast would compute attention and measures in half precision, and nothing in the result would
    say so.
    """
    with ExitStack() as switched_off:
        for kind in {device.type, "cpu"}:
            if torch.amp.is_autocast_available(kind):
                switched_off.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
