"""Numbers by which texts are distinguished, ranked and found again, and the units of texts."""

import hashlib
import json
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from jaxtyping import Int64

from headlight.encode import Encoded
from headlight.vocabulary import Kind


def text_id(example: Encoded) -> int:
    """Return a number that depends on the place of the text in the corpus alone.

    It depends neither on the name of a file, nor on the content of the text, nor on its place in a
    batch: the same texts give the same samples, orders and resamples wherever they come from.
    """
    digest = hashlib.sha256(json.dumps([*(example.origin or (0, 0))]).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # 63 bits fit int64


def units_of(examples: Sequence[Encoded]) -> Int64[np.ndarray, " text"]:
    """Return the number in the corpus of each text's unit: its document, or the text itself."""
    return np.array([example.unit for example in examples], dtype=np.int64)


_RANKS = 2**40


def rank_of(example: Encoded, kind: Kind) -> float:
    """Return the rank by which one of two equal examples is kept: shorter first, then by hash.

    It depends only on the tokens that attention of this kind sees, so examples can be found again
    by it.
    """
    length = len(example.ids) + 1 + (0 if kind == "encoder" else len(example.target))
    # 8000 is below 2^13, so that ranks are below 2^53 and exact in float64.
    return float(min(length, 8000) * _RANKS) + hash_of(example, kind)


def hash_of(example: Encoded, kind: Kind) -> float:
    """Return a hash of the tokens that this kind sees, a whole number as good as random."""
    # -1 is no id: the same tokens, split otherwise between source and target, hash differently.
    ids = (*example.ids, -1, *(() if kind == "encoder" else example.target))
    # 5 bytes are 40 bits: below `_RANKS`.
    digest = blake2b(np.array(ids, dtype=np.int64).tobytes(), digest_size=5).digest()
    return float(int.from_bytes(digest))
