"""A pass over a corpus that any number of processes share, on one machine or many."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any, Generic, Literal, TypeVar

from headlight.errors import RunInterruptedError, setting
from headlight.files import Location
from headlight.reduce import Tally
from headlight.run.blocks import Block, BlockFolder, blocks_done, examples_in
from headlight.run.checkpoint import Checkpoint
from headlight.run.claims import workers_in
from headlight.run.engine import measure_shard, settings_of, skip_done
from headlight.run.example import Example
from headlight.run.file_names import MERGE
from headlight.run.progress import Progress
from headlight.run.shard_runner import BatchJob, ShardRunner
from headlight.run.shards import ShardReader, read_shards
from headlight.run.state import State

E = TypeVar("E", bound=Example)

Mode = Literal["begin", "resume", "share"]
"""Use of a folder: it must be empty, a run in it is gone on with, or others work in it too."""

POLL = 0.2
"""Seconds between two looks at what others have done; five times as many after a while."""


def run_shared(
    examples: Iterable[E],
    work: BatchJob[E],
    *,
    folder: Location,
    signature: Mapping[str, Any],
    hardware: Mapping[str, Any],
    progress: Progress | None = None,
) -> State:
    """Take blocks of the corpus that nobody is at, until all are measured; then merge them.

    Any number of processes may do this on one folder, come late, or be killed.  The state depends
    on the examples alone, and is that of `headlight.run.run`, bit for bit.

    Args:
        examples: The corpus, from its beginning; it is read to its end, and again if another
            process did not finish what it had begun.  Of one that is
            `headlight.run.shards.Sharded`, blocks of others are passed over.
        work: What to do with it.
        folder: Where blocks are kept; all processes see it.
        signature: All settings that the result depends on, as JSON.
        hardware: What the last bits depend on besides, as JSON.
        progress: Callbacks for how far the run has come; what others did counts as well.

    Raises:
        RunError: the folder cannot be written, settings, hardware or corpus are not those of the
            run in it, or memory does not even suffice for one example.
        RunInterruptedError: the user pressed Ctrl-C.
    """
    settings = settings_of(signature, work)
    checkpoint = Checkpoint(folder, settings)
    # What a process did alone before others joined it, or all that others have merged.
    begun = checkpoint.begin(resume=True)
    if begun.finished:
        return begun
    blocks = BlockFolder(folder, settings, hardware)
    worker = _Worker(work, blocks, checkpoint, progress)
    try:
        return worker.finish(examples, begun)
    except KeyboardInterrupt:
        raise RunInterruptedError(
            f"interrupted; the blocks that were finished are kept in {folder}. Go on with the same "
            f"command and {setting('resume=True')}."
        ) from None


@dataclass
class _Worker(Generic[E]):
    """One process of a shared run."""

    work: BatchJob[E]
    blocks: BlockFolder
    checkpoint: Checkpoint
    progress: Progress | None
    others: set[str] = field(default_factory=set)
    """Names of blocks that others were at when they were looked at last."""
    shown: set[str] = field(default_factory=set)
    """Names of blocks whose examples the progress knows."""

    def finish(self, examples: Iterable[E], begun: State) -> State:
        if begun.examples and self.progress is not None:
            self.progress.skip(begun.examples, begun.tokens)
        while True:
            self.blocks.check_there()
            blocks = self._pass(read_shards(examples, self.work.shard_size), begun)
            waiting = self._wait([block for block in blocks if not self.blocks.is_done(block)])
            self._look()
            if not waiting:
                return self._merge(begun, blocks)

    def _pass(self, reader: ShardReader[E], begun: State) -> list[Block]:
        """Go through the corpus once, and measure what nobody is at: all blocks that there are."""
        skip_done(reader, begun)
        first = begun.shards
        blocks: list[Block] = []
        while not reader.at_end:
            block = Block(first, reader.digest)
            if not self.blocks.is_done(block) and self.blocks.claim(block.name):
                self._measure(reader, block)
                self._look()
            else:
                self._skip(reader, block)
            blocks.append(block)
            first += block.shards
        return blocks

    def _skip(self, reader: ShardReader[E], block: Block) -> None:
        """Leave a block to others."""
        if block.name not in self.shown:
            self.others.add(block.name)
        for _ in range(block.shards):
            if not reader.at_end:
                reader.skip()

    def _measure(self, reader: ShardReader[E], block: Block) -> None:
        """Measure a block and keep it."""
        alive = partial(self.blocks.beat, block.name)
        work = replace(self.work, measure=_with_beats(self.work.measure, alive))
        shards = ShardRunner(work, self.progress)
        state = State()
        self.shown.add(block.name)  # as its batches come
        self.others.discard(block.name)
        try:
            self.blocks.check_corpus(block)
            for _ in range(block.shards):
                if not reader.at_end:
                    state = measure_shard(shards, state, reader)
            self.blocks.keep(block, state)
        finally:
            self.blocks.release(block.name)

    def _look(self) -> None:
        """Show how far all workers are."""
        if self.progress is None:
            return
        folder = self.blocks.folder
        finished = blocks_done(folder)
        for name in self.others.intersection(finished):
            self.progress.advance(examples_in(folder, name), 0)
        self.shown |= self.others.intersection(finished)
        self.others.difference_update(finished)
        self.progress.share(workers_in(folder), len(finished))

    def _wait(self, waiting: list[Block]) -> bool:
        """Wait for what others are at; whether one of them has given up, so that work is left."""
        pauses = _pauses()
        while waiting := [block for block in waiting if not self.blocks.is_done(block)]:
            if any(self.blocks.is_abandoned(block.name) for block in waiting):
                # It may have been finished between the two looks.
                return not all(self.blocks.is_done(block) for block in waiting)
            self._look()
            time.sleep(next(pauses))
        return False

    def _merge(self, begun: State, blocks: list[Block]) -> State:
        """All blocks in the order of the corpus, by one process for all."""
        pauses = _pauses()
        while not self.blocks.claim(MERGE):
            time.sleep(next(pauses))
            self.blocks.check_there()
        try:
            merged = self.checkpoint.begin(resume=True)
            if merged.finished:  # by another
                return merged
            state = begun
            for block in blocks:
                self.blocks.beat(MERGE)
                state = state.joined(self.blocks.read(block))
            state = state.merged()
            self.checkpoint.save(state)
            return state
        finally:
            self.blocks.release(MERGE)


def _pauses() -> Iterator[float]:
    """Seconds between looks at what others have done."""
    yield from repeat(POLL, 10)
    yield from repeat(5 * POLL)


def _with_beats(measure: Callable[..., Tally], beat: Callable[[], None]) -> Callable[..., Tally]:
    def measured(*arguments: Any) -> Tally:
        beat()
        return measure(*arguments)

    return measured
