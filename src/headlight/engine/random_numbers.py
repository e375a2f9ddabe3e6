"""Random numbers of a text, the same in every batch."""

import numpy as np


def random_source(seed: int, text_id: int, *, layer: int = 0, draw: int = 0) -> np.random.Generator:
    """Return a source of random numbers that depend on nothing but the arguments.

    Args:
        seed: Seed of the study.
        text_id: Number that identifies the text; see `Texts.text_ids`.
        layer: Layer for whose attention the numbers are drawn.
        draw: Number of the draw.
    """
    key = np.array([seed, text_id], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, layer, draw]))
