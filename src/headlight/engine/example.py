"""Example of a run: one input of the model."""

import hashlib
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

_DIGEST = "examples:"
_BITS = 256
NOTHING_SEEN = f"{_DIGEST}{0:0{_BITS // 4}x}"
"""Digest of no examples."""


@runtime_checkable
class Example(Protocol):
    """Input of the model; an encoded example has all this and more."""

    @property
    def name(self) -> str:
        """Return file and place, for messages."""

    @property
    def ids(self) -> Sequence[int]:
        """Return the token ids with special tokens."""

    @property
    def segments(self) -> Sequence[int]:
        """Return the segment of each token."""

    @property
    def target(self) -> Sequence[int]:
        """Return the ids for the decoder, if there is one."""


def digest_with(digest: str, example: Example) -> str:
    """Return the digest of a corpus with one example more.

    It is a sum: of SHA-256 over ids, segments and target of each example, each with its length
    before it, modulo 2^256.  So parts of a corpus may be read by different processes, and two
    corpora have the same digest only if the model sees the same examples in them, equally often.
    Names of files do not matter.
    """
    content = hashlib.sha256()
    for part in (example.ids, example.segments, example.target):
        content.update(np.array([len(part), *part], dtype="<i8").tobytes())
    return join_digests(digest, f"{_DIGEST}{content.hexdigest()}")


def join_digests(first: str, second: str) -> str:
    """Return the digest of two parts of a corpus together."""
    total = sum(int(digest.removeprefix(_DIGEST), 16) for digest in (first, second))
    return f"{_DIGEST}{total % 2**_BITS:0{_BITS // 4}x}"


def is_digest(text: str) -> bool:
    """Whether a text is a digest of this kind; earlier versions made others."""
    return text.startswith(_DIGEST)
