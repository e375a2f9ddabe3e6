"""Random moments at which processes are killed, and bits that flip: others in every run, and the
same again by a seed.

A failure shows the seed among what the test has printed; ``HEADLIGHT_TEST_SEED=N pytest ...``
repeats its moments.
"""

import os
import sys
from collections.abc import Iterator

import numpy as np

SEED = "HEADLIGHT_TEST_SEED"


def random_moments() -> np.random.Generator:
    seed = int(os.environ.get(SEED) or np.random.SeedSequence().entropy % 2**32)
    sys.stdout.write(f"{SEED}={seed}\n")
    return np.random.default_rng(seed)


def flips(content: bytes, number: int) -> Iterator[bytes]:
    """The same bytes, so many times with one bit of another value."""
    generator = random_moments()
    for place in generator.integers(0, 8 * len(content), number).tolist():
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)
