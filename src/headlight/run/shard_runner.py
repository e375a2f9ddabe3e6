"""Shards, measured batch by batch; a batch for which memory does not suffice is halved."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headlight.errors import RunError
from headlight.reduce import Tally
from headlight.run.example import Example
from headlight.run.progress import Progress

E = TypeVar("E", bound=Example)


@dataclass(frozen=True, slots=True)
class BatchJob(Generic[E]):
    """Job that is done with the examples; it must not depend on anything else than its arguments.

    Attributes:
        measure: One batch in, what was seen in it out, as a new tally.
        batches: A shard in, the batches out, as positions in the shard, each exactly once.
        length: The number of tokens of an example.
        out_of_memory: Whether an error means that a smaller batch may succeed.
        shard_size: Elements of the corpus in a shard at most; a kill loses no more of them.
        seconds: The seconds that an example is expected to take, where that differs much.
    """

    measure: Callable[[Sequence[E]], Tally]
    batches: Callable[[Sequence[E]], Sequence[Sequence[int]]]
    length: Callable[[E], int]
    out_of_memory: Callable[[BaseException], bool]
    shard_size: int = 256
    seconds: Callable[[E], float] | None = None


class ShardRunner(Generic[E]):
    """Measures shards; what it finds in one depends on nothing but the examples of that shard."""

    def __init__(self, work: BatchJob[E], progress: Progress | None) -> None:
        self.work = work
        self.progress = progress
        self.limit: int | None = None  # tokens of a batch at most, padding included, in this shard
        self._told: int | None = None

    def measure(self, shard: Sequence[E]) -> Tally:
        """Measure a shard.

        Raises:
            RunError: memory does not even suffice for one example.
        """
        self.limit = None  # not that of the shard before, or bits would depend on who had it
        tally = Tally()
        for batch in self._batches(shard):
            tally = self._measured(batch, tally)
        return tally

    def tokens(self, shard: Sequence[E]) -> int:
        """Return the number of tokens in a shard."""
        return sum(map(self.work.length, shard))

    def _batches(self, shard: Sequence[E]) -> Iterator[Sequence[E]]:
        if not shard:
            return
        plan = self.work.batches(shard)
        if sorted(place for batch in plan for place in batch) != list(range(len(shard))):
            raise RunError("the batches do not hold every example of a shard exactly once.")
        for batch in plan:
            yield [shard[place] for place in batch]

    def _measured(self, batch: Sequence[E], tally: Tally) -> Tally:
        """Merge what is seen in a batch; halve the batch for as long as memory does not suffice."""
        if self._fits(batch):
            batch_tally = self._attempt(batch)
            if batch_tally is not None:
                self._tell(batch)
                tally.take(batch_tally)
                return tally
            self._shrink(batch)
        half = _half(batch)
        return self._measured(batch[half:], self._measured(batch[:half], tally))

    def _fits(self, batch: Sequence[E]) -> bool:
        size = len(batch) * self._longest(batch)
        return self.limit is None or len(batch) == 1 or size <= self.limit

    def _longest(self, batch: Sequence[E]) -> int:
        return max(map(self.work.length, batch))

    def _attempt(self, batch: Sequence[E]) -> Tally | None:
        """Measure a batch; None if memory ran out.

        The error must be gone before the next attempt: its traceback keeps the tensors alive.
        """
        try:
            return self.work.measure(batch)
        except Exception as error:
            if not self.work.out_of_memory(error):
                raise
            if len(batch) == 1:
                raise RunError(
                    f"memory does not suffice for one example alone: {batch[0].name}, "
                    f"{self.work.length(batch[0])} tokens. Shorten the examples, or use a device "
                    "with more memory."
                ) from error
        return None

    def _shrink(self, batch: Sequence[E]) -> None:
        """Remember what failed, so that later batches of the shard are halved before they fail."""
        self.limit = _half(batch) * self._longest(batch)
        if self.progress is not None and (self._told is None or self.limit < self._told):
            self._told = self.limit
            self.progress.note(f"memory ran out; a batch is tried with at most {self.limit} tokens")

    def _tell(self, batch: Sequence[E]) -> None:
        if self.progress is not None:
            expected = () if self.work.seconds is None else (sum(map(self.work.seconds, batch)),)
            self.progress.advance(len(batch), self.tokens(batch), *expected)


def _half(batch: Sequence[E]) -> int:
    return (len(batch) + 1) // 2
