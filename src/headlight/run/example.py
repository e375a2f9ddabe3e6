"""What a run needs to know of an example, and the digest of many."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

NOTHING_SEEN = hashlib.sha256(b"headlight corpus 1").hexdigest()
"""The digest of no examples."""


@runtime_checkable
class Example(Protocol):
    """One input of the model; an encoded example has all this and more."""

    @property
    def name(self) -> str:
        """File and place, for messages."""

    @property
    def ids(self) -> Sequence[int]:
        """Token ids with special tokens."""

    @property
    def segments(self) -> Sequence[int]:
        """Segment of each token."""

    @property
    def target(self) -> Sequence[int]:
        """Ids for the decoder, if there is one."""


@runtime_checkable
class Seekable(Protocol):
    """An iterator over examples that can pass over many without making them."""

    def place(self) -> Mapping[str, Any] | None:
        """Where the next example is, as JSON; None where examples cannot be passed over."""

    def go_to(self, place: Mapping[str, Any]) -> bool:
        """Go forward to a place; whether what is before it is what it was when it was noted."""


def place_in(examples: object) -> Mapping[str, Any] | None:
    """Where the next example is, if the iterator knows."""
    return examples.place() if isinstance(examples, Seekable) else None


def digest_with(digest: str, example: Example) -> str:
    """The digest of a corpus that goes on with one more example.

    It is a chain: SHA-256 over the digest so far, and ids, segments and target, each with its
    length before it. So a run can stop and go on, and two corpora have the same digest only if the
    model sees the same in the same order. Names of files do not matter.
    """
    chain = hashlib.sha256(bytes.fromhex(digest))
    for part in (example.ids, example.segments, example.target):
        numbers = np.array([len(part), *part], dtype="<i8")
        chain.update(numbers.tobytes())
    return chain.hexdigest()
