"""The precision that a model was loaded in, whatever the program around is doing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


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
