"""Random numbers of a text, whatever batch it is in."""

import numpy as np


def random_source(seed: int, text_id: int, *, layer: int = 0, draw: int = 0) -> np.random.Generator:
    """Random numbers that depend on nothing but these.

    Args:
        seed: of the study.
        text_id: of the text; see `Texts.text_ids`.
        layer: whose attention they are for.
        draw: the number of the draw.
    """
    key = np.array([seed, text_id], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, layer, draw]))
