"""Random numbers of torch from a seed, within a block."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(seed: tuple[int, ...], device: torch.device | None = None) -> Iterator[None]:
    """Seed torch's random numbers within the block; after it, restore their state."""
    # `fork_rng` restores the state of the CPU, and of the CUDA devices that are named.
    devices = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        # A sequence mixes the seeds, so that neighbouring ones give unrelated numbers.
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        yield
