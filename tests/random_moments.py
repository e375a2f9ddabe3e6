"""Random moments at which processes are killed, and bits that flip: the same in every run.

``HEADLIGHT_TEST_SEED=N pytest ...`` has others, as `make fuzz` does; a failure shows the seed among
what the test has printed.
"""

import os
import sys
from collections.abc import Iterator

import numpy as np

SEED = "HEADLIGHT_TEST_SEED"


def random_moments() -> np.random.Generator:
    seed = int(os.environ.get(SEED, 0))
    sys.stdout.write(f"{SEED}={seed}\n")
    return np.random.default_rng(seed)


def flips(content: bytes, number: int) -> Iterator[bytes]:
    """The same bytes, so many times with one bit of another value."""
    generator = random_moments()
    for place in generator.integers(0, 8 * len(content), number).tolist():
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)
