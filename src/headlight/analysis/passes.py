"""One pass of a model over a stream of examples, in shards and batches, with progress."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any, Generic, TypeVar

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.rounding import hardware_of, rounding_of
from headlight.encode import Encoded
from headlight.files import Location
from headlight.result import calculated_with
from headlight.run import BatchJob, State, run, run_shared, show_progress
from headlight.run.checkpoint import ROUNDING
from headlight.run.shards import ShardReader, read_shards
from headlight.run.shared_run import Mode

E = TypeVar("E", bound=Encoded)


def observe(
    examples: Iterable[E],
    step: BatchRunner[E],
    *,
    signature: Mapping[str, Any],
    folder: Location | None = None,
    mode: Mode = "begin",
    max_examples: int | None = None,
    progress: bool | str = True,
) -> State:
    """Run the model over the examples, and merge what the observers see.

    Memory does not grow with the number of examples.  With a folder, what was seen is kept after
    every shard, so that an interrupted pass can be resumed.

    Args:
        examples: such as `headlight.encode.texts` yields; when resuming, from the beginning again.
        step: the model and who observes it; it is opened and closed here.
        signature: all settings that the result depends on, as JSON.
        folder: where to keep the state; None keeps it in memory.
        mode: whether to go on from the state in the folder, or to share it with other processes,
            each of which takes other examples.
        max_examples: largest number of examples.
        progress: show a bar on standard error; a text is what the pass is called, said before it
            begins.

    Raises:
        RunError: the folder holds a pass with other settings or another corpus, or one begun with
            another version of torch or transformers, or where numbers are rounded otherwise.
        RunInterruptedError: the user pressed Ctrl-C.
    """
    title = progress if isinstance(progress, str) else ""
    timed = islice(examples, max_examples) if progress and step.seconds else ()
    expected = sum(map(step.seconds, timed)) if step.seconds else 0.0
    display = (
        show_progress(max_examples, sys.stderr, title=title, seconds=expected)
        if progress
        else nullcontext()
    )
    with step, display as bar:
        work = BatchJob(
            measure=step,
            batches=step.batches,
            length=_length,
            shard_size=step.shard_size,
            out_of_memory=step.can_do_less,
            seconds=step.seconds,
        )
        signature = {**signature, **calculated_with()}
        if folder is not None:
            signature |= {ROUNDING: rounding_of(step.device)}
        first = examples if max_examples is None else _First(examples, max_examples)
        if mode == "share" and folder is not None:
            return run_shared(
                first,
                work,
                folder=folder,
                signature=signature,
                hardware=hardware_of(step.device),
                progress=bar,
            )
        return run(
            first, work, folder=folder, signature=signature, resume=mode == "resume", progress=bar
        )


class _First(Iterable[E]):
    """The first examples, which may be read several times."""

    def __init__(self, examples: Iterable[E], number: int) -> None:
        self._examples = examples
        self._number = number

    def __iter__(self) -> Iterator[E]:
        return islice(self._examples, self._number)

    def shards(self, size: int) -> "_FirstShards[E]":
        """See `headlight.run.shards.Sharded`."""
        return _FirstShards(read_shards(self._examples, size), self._number)


class _FirstShards(Generic[E]):
    """One iteration over them; to know where they end, what is passed over is made, too."""

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


def _length(example: Encoded) -> int:
    return len(example.ids) + len(example.target)
