"""Settings of torch for the time of a block: precision of products, autocast, threads."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from headlight.settings.attribution import MatrixPrecision


@contextmanager
def matrix_precision(name: MatrixPrecision) -> Iterator[None]:
    """Within the block, products of float32 matrices of the whole process have this precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def own_precision(device: torch.device) -> Iterator[None]:
    """Within the block no autocast of the host program is in force, on this device and the CPU.

    It would compute attention and measures in half precision, and nothing in the result would say
    so.
    """
    with ExitStack() as switched_off:
        for kind in {device.type, "cpu"}:
            if torch.amp.is_autocast_available(kind):
                switched_off.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the block torch computes in one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
