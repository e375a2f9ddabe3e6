"""A pass over a corpus that any number of processes share, on one machine or many."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from headlight.errors import RunInterruptedError
from headlight.files import Location
from headlight.reduce import Tally, Tree
from headlight.run.blocks import Block, BlockFolder, blocks_done, workers_in
from headlight.run.checkpoint import Checkpoint, State
from headlight.run.engine import measure_shard, skip_done
from headlight.run.example import Example, digest_with, place_in
from headlight.run.progress import Progress
from headlight.run.shards import BatchJob, ShardRunner

E = TypeVar("E", bound=Example)

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
            process did not finish what it had begun.  Where iterating gives a
            `headlight.run.example.Seekable`, blocks of others are passed over.
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
    settings = {**signature, "shard_size": work.shard_size}
    # What a process did alone before others joined it.
    begun = Checkpoint(folder, settings).begin(resume=True)
    if begun.finished:
        return begun
    blocks = BlockFolder(folder, settings, hardware)
    worker = _Worker(work, blocks, progress)
    try:
        return worker.finish(examples, begun)
    except KeyboardInterrupt:
        raise RunInterruptedError(
            f"interrupted; the blocks that were finished are kept in {folder}. Go on with the same "
            "command and --resume."
        ) from None


@dataclass
class _Worker(Generic[E]):
    """One process of a shared run."""

    work: BatchJob[E]
    blocks: BlockFolder
    progress: Progress | None
    others: dict[Block, int] = field(default_factory=dict)
    """How many examples blocks have that others were at when they were looked at last."""
    shown: set[Block] = field(default_factory=set)
    """Blocks whose examples the progress knows."""

    def finish(self, examples: Iterable[E], begun: State) -> State:
        while True:
            self.blocks.check_there()
            blocks = self._pass(iter(examples), begun)
            waiting = [block for block in blocks if not self.blocks.is_done(block)]
            left = self._wait(waiting)
            self._look()
            if not left:
                return self._merged(begun, blocks)

    def _pass(self, examples: Iterator[E], begun: State) -> list[Block]:
        """Go through the corpus once, and measure what nobody is at: all blocks that there are.

        What others have read is not read here, until a block behind it is measured.
        """
        if begun.examples and self.progress is not None:
            self.progress.skip(begun.examples, begun.tokens)
        behind, reached = begun, State()  # of what is passed over; of what was read
        first = begun.examples // self.work.shard_size
        blocks: list[Block] = []
        while not behind.finished:
            block = Block(first, behind.digest)
            blocks.append(block)
            mine = not self.blocks.is_done(block) and self.blocks.claim(block.name)
            known = None if mine else self.blocks.end_of(block)
            if known is None:
                if behind is not reached:
                    skip_done(examples, behind)
                reached = known = behind.joined(self._read(examples, block, mine=mine))
                self.blocks.note_end(block, known, measured=mine)
                self._look()
            if block not in self.shown:
                self.others[block] = known.examples - behind.examples
            behind = known
            first += block.shards
        if behind is not reached:
            skip_done(examples, behind)
        return blocks

    def _read(self, examples: Iterator[E], block: Block, *, mine: bool) -> State:
        """Measure a block, or leave it to others; what is known behind it, of it alone."""
        found = self._measure(examples, block) if mine else self._pass_over(examples, block)
        return replace(found, tree=Tree())

    def _pass_over(self, examples: Iterator[E], block: Block) -> State:
        digest, passed, tokens = block.digest, 0, 0
        wanted = block.shards * self.work.shard_size
        for example in islice(examples, wanted):
            digest, passed = digest_with(digest, example), passed + 1
            tokens += self.work.length(example)
        return State(
            examples=passed,
            tokens=tokens,
            digest=digest,
            finished=passed < wanted,
            place=place_in(examples),
        )

    def _measure(self, examples: Iterator[E], block: Block) -> State:
        """Measure a block and keep it."""
        alive = partial(self.blocks.beat, block.name)
        work = replace(self.work, measure=_with_beats(self.work.measure, alive))
        shards = ShardRunner(work, self.progress)
        state = State(digest=block.digest)
        self.shown.add(block)  # as its batches come
        self.others.pop(block, None)
        try:
            self.blocks.check_corpus(block)
            for _ in range(block.shards):
                state = measure_shard(shards, state, examples)
                if state.finished:
                    break
            self.blocks.keep(block, state)
        finally:
            self.blocks.release(block.name)
        return state

    def _look(self) -> None:
        """Show how far all workers are."""
        if self.progress is None:
            return
        for block in [each for each in self.others if self.blocks.is_done(each)]:
            self.shown.add(block)
            self.progress.advance(self.others.pop(block), 0)
        folder = self.blocks.folder
        self.progress.share(workers_in(folder), len(blocks_done(folder)))

    def _wait(self, waiting: list[Block]) -> bool:
        """Wait for what others are at; whether one of them has given up, so that work is left."""
        waited = 0.0
        while waiting := [block for block in waiting if not self.blocks.is_done(block)]:
            if any(self.blocks.is_abandoned(block.name) for block in waiting):
                # It may have been finished between the two looks.
                return not all(self.blocks.is_done(block) for block in waiting)
            pause = POLL if waited < 10 * POLL else 5 * POLL
            self._look()
            time.sleep(pause)
            waited += pause
        return False

    def _merged(self, begun: State, blocks: list[Block]) -> State:
        """All blocks in the order of the corpus."""
        state = begun
        for block in blocks:
            state = state.joined(self.blocks.read(block))
        return state.merged()


def _with_beats(measure: Callable[..., Tally], beat: Callable[[], None]) -> Callable[..., Tally]:
    def measured(*arguments: Any) -> Tally:
        beat()
        return measure(*arguments)

    return measured
