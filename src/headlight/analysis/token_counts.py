"""How often every type of token occurs."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int64

from headlight.encode import Encoded


def count_types(
    examples: Iterable[Encoded], types: int, *, target: bool = False
) -> Int64[np.ndarray, " type"]:
    """How often every type occurs, special tokens included; nothing but the tokenizer runs.

    Args:
        examples: what will be looked at.
        types: the size of the vocabulary.
        target: count what the decoder is given instead.
    """
    counts = np.zeros(types, dtype=np.int64)
    for example in examples:
        counts += np.bincount(example.target if target else example.ids, minlength=types)
    return counts
