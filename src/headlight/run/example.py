"""Example of a run, the digest of many, and a corpus shard by shard."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Generic, Protocol, runtime_checkable

import numpy as np
from typing_extensions import TypeVar

_DIGEST = "examples:"
_BITS = 256
NOTHING_SEEN = f"{_DIGEST}{0:0{_BITS // 4}x}"
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


E = TypeVar("E", bound=Example)
E_co = TypeVar("E_co", bound=Example, covariant=True)


@runtime_checkable
class ShardReader(Protocol[E_co]):
    """One iteration over a corpus, shard by shard."""

    @property
    def at_end(self) -> bool:
        """Whether there is no shard any more."""

    @property
    def digest(self) -> str:
        """Return the digest of what was read so far, whether examples were made of it or not."""

    def take(self, most: int | None = None) -> tuple[Sequence[E_co], Mapping[str, int]]:
        """The examples of the next shard, or the first of them, and what became of its elements.

        What became of them are counts by name; there are none where that is not known.
        """

    def skip(self) -> None:
        """Pass over the next shard; where that is possible, without making its examples."""


@runtime_checkable
class Sharded(Protocol[E_co]):
    """A corpus that knows how it is cut: where a shard begins depends on nothing but its texts."""

    def shards(self, size: int) -> ShardReader[E_co]:
        """Begin to read it, in shards of this many elements at most."""


def read_shards(examples: Iterable[E], size: int) -> ShardReader[E]:
    """Begin to read a corpus shard by shard.

    Args:
        examples: A corpus that is `Sharded`, or any examples: then a shard has `size` of them, and
            what is passed over is made all the same.
        size: Elements in a shard at most.
    """
    return examples.shards(size) if isinstance(examples, Sharded) else _Listed(examples, size)


class _Listed(Generic[E]):
    """Examples of which nothing is known but their order."""

    def __init__(self, examples: Iterable[E], size: int) -> None:
        self._examples: Iterator[E] = iter(examples)
        self._size = size
        self._next: list[E] = []
        self.digest = NOTHING_SEEN
        self._advance()

    @property
    def at_end(self) -> bool:
        return not self._next

    def take(self, most: int | None = None) -> tuple[Sequence[E], Mapping[str, int]]:
        examples = self._next[:most]
        self._advance()
        return examples, {}

    def skip(self) -> None:
        self._advance()

    def _advance(self) -> None:
        for example in self._next:
            self.digest = digest_with(self.digest, example)
        self._next = list(islice(self._examples, self._size))


def digest_with(digest: str, example: Example) -> str:
    """The digest of a corpus with one example more.

    It is a sum: of SHA-256 over ids, segments and target of each example, each with its length
    before it, modulo 2^256.  So parts of a corpus may be read by different processes, and two
    corpora have the same digest only if the model sees the same examples in them, equally often.
    Names of files do not matter.
    """
    content = hashlib.sha256()
    for part in (example.ids, example.segments, example.target):
        content.update(np.array([len(part), *part], dtype="<i8").tobytes())
    return join_digests(digest, f"{_DIGEST}{content.hexdigest()}")


def join_digests(one: str, other: str) -> str:
    """The digest of two parts of a corpus together."""
    total = sum(int(digest.removeprefix(_DIGEST), 16) for digest in (one, other))
    return f"{_DIGEST}{total % 2**_BITS:0{_BITS // 4}x}"


def is_digest(text: str) -> bool:
    """Whether it is a digest of this kind; earlier versions made others."""
    return text.startswith(_DIGEST)
