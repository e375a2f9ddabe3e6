"""Shards of a corpus, read one after the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Generic, Protocol, runtime_checkable

from typing_extensions import TypeVar

from headlight.engine.example import NOTHING_SEEN, Example, digest_with

E = TypeVar("E", bound=Example)
E_co = TypeVar("E_co", bound=Example, covariant=True)


@runtime_checkable
class ShardReader(Protocol[E_co]):
    """One iteration over a corpus, shard by shard."""

    @property
    def at_end(self) -> bool:
        """Whether no shard is left."""

    @property
    def digest(self) -> str:
        """Return the digest of what was read so far, whether examples were made of it or not."""

    def take(self, most: int | None = None) -> tuple[Sequence[E_co], Mapping[str, int]]:
        """Return the examples of the next shard, or the first of them, and counts of its elements.

        The counts say by name what became of the elements; they are empty where that is not known.
        """

    def skip(self) -> None:
        """Pass over the next shard, without making its examples where that is possible."""


@runtime_checkable
class Sharded(Protocol[E_co]):
    """Corpus that defines its shards: where a shard begins depends on nothing but its texts."""

    def shards(self, size: int) -> ShardReader[E_co]:
        """Begin to read the corpus, in shards of at most `size` elements."""


def read_shards(examples: Iterable[E], size: int) -> ShardReader[E]:
    """Begin to read a corpus shard by shard.

    Args:
        examples: Corpus that is `Sharded`, or any examples: then a shard has `size` of them, and
            examples that are passed over are made all the same.
        size: Maximum number of elements in a shard.
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


class FirstExamples(Iterable[E]):
    """First examples of a corpus, which may be read several times.

    Args:
        examples: Examples of the corpus.
        number: Maximum number of examples.
    """

    def __init__(self, examples: Iterable[E], number: int) -> None:
        self._examples = examples
        self._number = number

    def __iter__(self) -> Iterator[E]:
        return islice(self._examples, self._number)

    def shards(self, size: int) -> "_FirstShards[E]":
        """Begin to read the corpus in shards; see `Sharded`."""
        return _FirstShards(read_shards(self._examples, size), self._number)


class _FirstShards(Generic[E]):
    """One iteration over the first examples; those passed over are made, to know where to end."""

    def __init__(self, reader: ShardReader[E], number: int) -> None:
        self._reader = reader
        self._left = number

    @property
    def at_end(self) -> bool:
        return not self._left or self._reader.at_end

    @property
    def digest(self) -> str:
        return self._reader.digest

    def take(self, most: int | None = None) -> tuple[Sequence[E], Mapping[str, int]]:
        most = self._left if most is None else min(most, self._left)
        examples, counts = self._reader.take(most)
        self._left -= len(examples)
        return examples, counts

    def skip(self) -> None:
        self.take()
