"""Shards, measured batch by batch; a batch for which memory does not suffice is halved."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headlight.engine.example import Example
from headlight.engine.progress import Progress
from headlight.errors import RunError
from headlight.reduce import Tally

E = TypeVar("E", bound=Example)


@dataclass(frozen=True, slots=True)
class BatchJob(Generic[E]):
    """Job that is done with the examples; its functions must depend on their arguments alone.

    Attributes:
        measure: Function from a batch to a new tally of what was observed in it.
        batches: Function from a shard to its batches, as positions in the shard, each exactly once.
        length: Function from an example to its number of tokens.
        out_of_memory: Whether an error means that a smaller batch may succeed.
        shard_size: Maximum number of elements of the corpus in a shard; a kill loses no more of
            them.
        seconds: Function from an example to its expected seconds, where those differ much.
    """

    measure: Callable[[Sequence[E]], Tally]
    batches: Callable[[Sequence[E]], Sequence[Sequence[int]]]
    length: Callable[[E], int]
    out_of_memory: Callable[[BaseException], bool]
    shard_size: int = 256
    seconds: Callable[[E], float] | None = None


class ShardRunner(Generic[E]):
    """Runner of shards; the tally of a shard depends on nothing but its examples."""

    def __init__(self, job: BatchJob[E], progress: Progress | None) -> None:
        self._job = job
        self._progress = progress
        self._limit: int | None = None  # tokens of a batch at most, padding included, in this shard
        self._told: int | None = None

    def measure_shard(self, shard: Sequence[E], before_batch: Callable[[], None]) -> Tally:
        """Measure a shard; a batch for which memory does not suffice is halved, again and again.

        Args:
            shard: Examples of the shard.
            before_batch: Callback before each attempt to measure a batch.

        Raises:
            RunError: memory does not even suffice for one example.
        """
        self._limit = None  # not that of the shard before, or bits would depend on who had it
        tally = Tally()
        batches = deque(self._batches(shard))
        while batches:
            batch = batches.popleft()
            if self._fits(batch):
                before_batch()
                try:
                    batch_tally = self._job.measure(batch)
                except Exception as error:  # noqa: BLE001 - raised again, unless memory ran out
                    self._refuse_unless_smaller(error, batch)
                else:
                    self._advance(batch)
                    tally.take(batch_tally)
                    continue
                # The error is gone here: its traceback would keep the tensors of the batch alive.
                self._shrink(batch)
            half = _half(batch)
            batches.extendleft((batch[half:], batch[:half]))
        return tally

    def _batches(self, shard: Sequence[E]) -> Iterator[Sequence[E]]:
        if not shard:
            return
        plan = self._job.batches(shard)
        if sorted(place for batch in plan for place in batch) != list(range(len(shard))):
            raise RunError("the batches do not hold every example of a shard exactly once.")
        for batch in plan:
            yield [shard[place] for place in batch]

    def _fits(self, batch: Sequence[E]) -> bool:
        size = len(batch) * self._longest(batch)
        return self._limit is None or len(batch) == 1 or size <= self._limit

    def _longest(self, batch: Sequence[E]) -> int:
        return max(map(self._job.length, batch))

    def _refuse_unless_smaller(self, error: Exception, batch: Sequence[E]) -> None:
        """Raise an error that a smaller batch would not mend, or if there is no smaller batch."""
        if not self._job.out_of_memory(error):
            raise error
        if len(batch) == 1:
            raise RunError(
                f"memory does not suffice for one example alone: {batch[0].name}, "
                f"{self._job.length(batch[0])} tokens. Shorten the examples, or use a device "
                "with more memory."
            ) from error

    def _shrink(self, batch: Sequence[E]) -> None:
        """Remember what failed, so that later batches of the shard are halved before they fail."""
        self._limit = _half(batch) * self._longest(batch)
        if self._progress is not None and (self._told is None or self._limit < self._told):
            self._told = self._limit
            self._progress.note(
                f"memory ran out; a batch is tried with at most {self._limit} tokens"
            )

    def _advance(self, batch: Sequence[E]) -> None:
        if self._progress is not None:
            job = self._job
            expected = () if job.seconds is None else (sum(map(job.seconds, batch)),)
            self._progress.advance(len(batch), sum(map(job.length, batch)), *expected)


def _half(batch: Sequence[E]) -> int:
    return (len(batch) + 1) // 2
