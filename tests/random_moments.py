"""Random moments at which processes are killed: others in every run, and the same again by a seed.

A failure shows the seed among what the test has printed; ``HEADLIGHT_TEST_SEED=N pytest ...``
repeats its moments.
"""

import os
import sys

import numpy as np

SEED = "HEADLIGHT_TEST_SEED"


def random_moments() -> np.random.Generator:
    seed = int(os.environ.get(SEED) or np.random.SeedSequence().entropy % 2**32)
    sys.stdout.write(f"{SEED}={seed}\n")
    return np.random.default_rng(seed)
