"""Measurement of a corpus: one pass over it, block by block, that survives interruptions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from headlight.engine.blocks import Block, Blocks
from headlight.engine.checkpoint import SHARD_ELEMENTS
from headlight.engine.example import NOTHING_SEEN, Example, digest_with
from headlight.engine.file_names import ROWS_OF_TEXTS
from headlight.engine.progress import Progress
from headlight.engine.shard_runner import BatchJob, ShardRunner
from headlight.engine.shards import ShardReader, read_shards
from headlight.engine.state import State
from headlight.errors import RunError, RunInterruptedError, setting
from headlight.reduce import Tally, Tree

E = TypeVar("E", bound=Example)


@dataclass
class Measurement(Generic[E]):
    """One pass over a corpus, by one process: the only one, or one of many.

    Batches are merged in the order in which `job.batches` gives them, and shards as `Tree` does.
    So a pass that was interrupted and resumed any number of times, or shared by any number of
    processes, ends with the same bits as one that was not.  Memory holds a shard or two, never the
    corpus.

    Attributes:
        examples: Corpus, from its beginning; it is read again where another process did not finish
            a block that it had begun.  In a corpus that is `headlight.engine.shards.Sharded`,
            examples that are measured already, here or elsewhere, are passed over; in any other
            they are made again.
        job: Job that is done with the examples.
        blocks: Blocks that are measured already, or claimed by other processes.
        progress: Callbacks for the progress of the pass; what other processes did counts as well.
    """

    examples: Iterable[E]
    job: BatchJob[E]
    blocks: Blocks
    progress: Progress | None = None

    def finish(self) -> State:
        """Measure what no process has measured, and return the state of the whole corpus.

        The state of a pass that was finished before is returned at once, without the corpus.

        Raises:
            RunError: the folder cannot be written, the corpus is not that of the state, or memory
                does not even suffice for one example.
            RunInterruptedError: the user pressed Ctrl-C.
        """
        begun = self.blocks.begun
        if begun.finished:
            return begun
        if begun.examples and self.progress is not None:
            self.progress.skip(begun.examples, begun.tokens)
        runner = ShardRunner(self.job, self.progress)
        try:
            while True:
                self.blocks.begin_reading()
                reader = read_shards(self.examples, self.job.shard_size)
                skip_done(reader, begun)
                for block in self._free_blocks(reader):
                    self._measure_block(runner, reader, block)
                if not self.blocks.wait(self.progress):
                    self.blocks.show(self.progress)
                    return self.blocks.merged()
        except KeyboardInterrupt:
            raise RunInterruptedError(self.blocks.interrupted) from None

    def _free_blocks(self, reader: ShardReader[E]) -> Iterator[Block]:
        """Yield the blocks that this process could claim, and pass over the others."""
        first = self.blocks.begun.shards
        while not reader.at_end:
            block = self.blocks.next_block(first, reader.digest)
            if self.blocks.claim(block):
                yield block
                self.blocks.show(self.progress)
            else:
                _skip(reader, block)
            first += block.shards

    def _measure_block(self, runner: ShardRunner[E], reader: ShardReader[E], block: Block) -> None:
        """Measure a block and keep it."""
        alive = partial(self.blocks.beat, block)
        state = State()
        try:
            self.blocks.check_corpus(block)
            for number in range(block.first, block.first + block.shards):
                if not reader.at_end:
                    own = Block(number, reader.digest)
                    shard, counts = reader.take()
                    tally, rows = _split(runner.measure_shard(shard, alive))
                    self.blocks.keep_rows(own, rows)
                    tokens = sum(map(self.job.length, shard))
                    state = state.joined(_shard_state(shard, tally, tokens, reader.digest, counts))
            self.blocks.keep(block, state, last=reader.at_end)
        finally:
            self.blocks.release(block)


def settings_of(signature: Mapping[str, Any], job: BatchJob[Any]) -> dict[str, Any]:
    """Return everything that a state depends on, how the corpus is cut included."""
    return {**signature, SHARD_ELEMENTS: job.shard_size}


def _split(tally: Tally) -> tuple[Tally, Tally]:
    """Return the statistics of a shard, which are merged, and its rows, which are not."""
    rows = {name: member for name, member in tally.items() if name.endswith(ROWS_OF_TEXTS)}
    return Tally({name: member for name, member in tally.items() if name not in rows}), Tally(rows)


def _shard_state(
    shard: Sequence[Example], tally: Tally, tokens: int, read: str, counts: Mapping[str, int]
) -> State:
    """Return the state of one shard alone."""
    digest = NOTHING_SEEN
    for example in shard:
        digest = digest_with(digest, example)
    return State(
        tree=Tree().push(tally),
        shards=1,
        examples=len(shard),
        tokens=tokens,
        digest=digest,
        read=read,
        counts=counts,
    )


def _skip(reader: ShardReader[E], block: Block) -> None:
    for _ in range(block.shards):
        if not reader.at_end:
            reader.skip()


def skip_done(reader: ShardReader[E], state: State) -> None:
    """Pass over the examples that are done, and make sure that they have not changed.

    Args:
        reader: Reader at the beginning of the corpus.
        state: State behind what is done.

    Raises:
        RunError: the corpus begins otherwise.
    """
    for passed in range(state.shards):
        if reader.at_end:
            raise _changed_error(
                state, f", and it ends after {passed} of {state.shards} shards now"
            )
        reader.skip()
    if state.shards and reader.digest != state.read:
        raise _changed_error(state)


def _changed_error(state: State, shorter: str = "") -> RunError:
    return RunError(
        f"the corpus has changed since this run began: its first {state.examples} examples are no "
        f"longer the same{shorter}. Restore it, or start over in another folder with "
        f"{setting('out=')}."
    )
