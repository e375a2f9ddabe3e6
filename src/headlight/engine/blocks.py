"""Blocks of a pass: kept by one process alone, or shared by several processes through a folder."""

import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from headlight import files
from headlight.engine.checkpoint import (
    DAMAGED,
    FILE as CHECKPOINT,
    SHARD_ELEMENTS,
    Checkpoint,
    check_signature,
    from_earlier_version,
    load_state,
    save_state,
)
from headlight.engine.claims import BEAT, PROCESS_TOKEN, is_stale, workers_in
from headlight.engine.file_names import BLOCKS, CLAIMS, COUNTS, MERGE, PLAN, ROWS
from headlight.engine.pass_folders import refuse_link
from headlight.engine.progress import Progress
from headlight.engine.state import State
from headlight.errors import ResultError, RunError, setting
from headlight.files import Location
from headlight.reduce import Tally

FIRST_SHARDS = 256
"""Shards at the beginning of a shared corpus that are a block each."""
LARGEST = 6
"""Blocks hold at most two to this power of shards."""
POLL = 0.2
"""Seconds between two checks of the work of others; five times as many after a while."""


@dataclass(frozen=True, slots=True)
class Block:
    """Aligned run of shards, measured by one process.

    Attributes:
        first: Number of its first shard.
        digest: Digest of all that is read before it, by which workers with another corpus are
            noticed.
        shards: Number of its shards; fewer where the corpus ends.
    """

    first: int
    digest: str
    shards: int = 1

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.first:09d}-{self.digest[:16]}"


class Blocks(ABC):
    """Measured blocks of a pass; methods that only several processes need do nothing by default.

    Attributes:
        begun: State to begin with.
        place: Folder in which blocks are kept; None where nothing is kept.
    """

    begun: State
    place: Location | None = None

    @abstractmethod
    def next_block(self, first: int, digest: str) -> Block:
        """Return the block that begins at a shard, with the digest of all before it."""

    @abstractmethod
    def claim(self, block: Block) -> bool:
        """Claim a block until it is released; return whether this process is to measure it."""

    @abstractmethod
    def keep(self, block: Block, state: State, *, last: bool) -> None:
        """Keep the state of the examples of a block.

        Args:
            block: The block.
            state: State of its examples alone.
            last: Whether the corpus ends with the block.

        Raises:
            RunError: the folder cannot be written.
        """

    def keep_rows(self, block: Block, rows: Tally) -> None:
        """Keep the rows of the texts of a block of one shard, before the block itself.

        Raises:
            RunError: the folder cannot be written.
        """
        if self.place is not None and rows:
            refuse_link(self.place / ROWS)
            folder = files.make_folder(self.place / ROWS, error=RunError)
            rows.save(folder / f"{block.name}.safetensors", error=RunError)

    def rows(self, shards: int) -> Iterator[Tally]:
        """Yield the rows of the first shards, in their order, once all are measured.

        Raises:
            RunError: a file cannot be read, or other processes have removed it.
        """
        assert self.place is not None  # noqa: S101 - rows are asked for with a folder alone
        folder = self.place / ROWS
        for name in sorted(path.name for path in folder.glob("*.safetensors")):
            if int(name.partition("-")[0]) >= shards:
                continue
            try:
                yield Tally.load(folder / name)[0]
            except ResultError as problem:
                raise RunError(f"{folder / name} cannot be read; start over.") from problem
        # Of a run that others have completed, the checkpoint is removed first.
        if not (self.place / CHECKPOINT).exists():
            raise RunError(f"the run in {self.place} was completed by another process.")

    @abstractmethod
    def merged(self) -> State:
        """Return the final state, of all blocks in the order of the corpus, and keep it."""

    def forget(self) -> None:
        """Remove the kept state, from which no run can be resumed."""
        if self.place is not None:
            (self.place / CHECKPOINT).unlink(missing_ok=True)

    @property
    @abstractmethod
    def interrupted(self) -> str:
        """Return the message to a user who has interrupted the pass: what is kept, how to go on."""

    def begin_reading(self) -> None:
        """Begin at the first block that is not in the state to begin with."""

    def check_corpus(self, block: Block) -> None:
        """Refuse a corpus that is not that of the other workers."""

    def beat(self, block: Block) -> None:
        """Give a sign of life, if the last was some time ago."""

    def release(self, block: Block) -> None:
        """Release the claim on a block."""

    def wait(self, progress: Progress | None) -> bool:
        """Wait for other processes; return whether one has given up, so that work is left."""
        return False

    def show(self, progress: Progress | None) -> None:
        """Show the progress of other processes."""


class OwnBlocks(Blocks):
    """Blocks of a pass that this process has to itself: each is a shard, in the checkpoint at once.

    Args:
        checkpoint: Checkpoint in which the state is kept; None keeps it in memory only.
        resume: Whether to resume from the state in the checkpoint; else there must be none.

    Raises:
        UsageError: there is a state, and the caller does not resume from it.
        RunError: the state is one of other settings, or cannot be read.
    """

    def __init__(self, checkpoint: Checkpoint | None, *, resume: bool = False) -> None:
        self.begun = State() if checkpoint is None else checkpoint.begin(resume=resume)
        self.place = None if checkpoint is None else checkpoint.path.parent
        self._state = self.begun
        self._checkpoint = checkpoint

    def next_block(self, first: int, digest: str) -> Block:
        """Return the block of one shard."""
        return Block(first, digest)

    def claim(self, block: Block) -> bool:
        """Whether a block is not measured yet."""
        return block.first >= self._state.shards

    def keep(self, block: Block, state: State, *, last: bool) -> None:
        """Add the state of a block to that of all before it."""
        state = self._state.joined(state)
        if last:
            self._state = state  # which `merged` writes as the final one
        else:
            self._save(state)

    def merged(self) -> State:
        """Return the final state, and keep it."""
        self._save(self._state.merged())
        return self._state

    @property
    def interrupted(self) -> str:
        """Return what is kept, and how to go on, as a sentence."""
        if self._checkpoint is None:
            return "interrupted; nothing is kept, because the run had no folder."
        return (
            f"interrupted; {self._state.examples} examples are done and kept in "
            f"{self._checkpoint.path.parent}. Go on with the same command and "
            f"{setting('resume=True')}."
        )

    def _save(self, state: State) -> None:
        if self._checkpoint is not None:
            self._checkpoint.save(state)
        self._state = state


class SharedBlocks(Blocks):
    """Blocks of a pass that several processes share: a plan, files of finished blocks, and claims.

    A block is a pure function of the plan, so that measuring it twice gives the same bytes: claims
    save double work, and nothing depends on them.  Any number of processes may work on one folder,
    come late, or be killed; what they have measured is merged by one of them.

    Args:
        folder: Folder of the run, or of one of its passes; made if need be.
        signature: Everything that the result depends on, as JSON.
        hardware: Description of the hardware that the last bits depend on, as JSON.

    Raises:
        RunError: the folder holds a run with other settings, or begun on another kind of hardware.
    """

    def __init__(
        self, folder: Location, signature: Mapping[str, Any], hardware: Mapping[str, Any]
    ) -> None:
        self.place = self.folder = folder
        self._checkpoint = Checkpoint(folder, signature)
        # What a process did alone before others joined it, or all that others have merged.
        self.begun = self._checkpoint.begin(resume=True)
        self._beaten = 0.0
        self._blocks: list[Block] = []
        """Blocks of the corpus, as far as it was read."""
        self._others: set[str] = set()
        """Names of the blocks that other processes were at when these were last examined."""
        self._shown: set[str] = set()
        """Names of the blocks whose examples the progress has counted, or will count."""
        if not self.begun.finished:
            self._prepare(signature, hardware)

    def _prepare(self, signature: Mapping[str, Any], hardware: Mapping[str, Any]) -> None:
        """Make the folders and the plan, or check that the existing plan is this one."""
        files.make_folder(self.folder, error=RunError)
        for name in (BLOCKS, CLAIMS, COUNTS):
            refuse_link(self.folder / name)
            files.make_folder(self.folder / name, error=RunError)
        wanted = json.loads(json.dumps({"signature": dict(signature), "hardware": dict(hardware)}))
        content = json.dumps(wanted, indent=1).encode()
        if not files.write_new(self.folder / PLAN, content, error=RunError):
            check_plan(self.folder, wanted["signature"], wanted["hardware"])

    def next_block(self, first: int, digest: str) -> Block:
        """Return the block that begins at a shard.

        Its number of shards depends on where it begins alone: one at first, so that short runs keep
        all workers busy, then twice as many whenever the number of shards before doubles; a power
        of two that divides `first`, so that a block is a subtree of `headlight.reduce.Tree`.
        """
        grown = min((first // FIRST_SHARDS).bit_length(), LARGEST)
        aligned = (first & -first).bit_length() - 1 if first else 0
        return Block(first, digest, 1 << min(grown, aligned))

    def is_done(self, block: Block) -> bool:
        """Whether a block is measured."""
        return self._path(block).exists()

    def begin_reading(self) -> None:
        """Begin to read the corpus, once more where another process has given up.

        Raises:
            RunError: other processes have completed the run, and removed the blocks.
        """
        self.check_there()
        self._blocks = []

    def claim(self, block: Block) -> bool:
        """Claim a block, unless it is measured or another process is at it."""
        self._blocks.append(block)
        if not self.is_done(block) and self._claim(block.name):
            self._shown.add(block.name)  # as its batches come
            self._others.discard(block.name)
            return True
        if block.name not in self._shown:
            self._others.add(block.name)
        return False

    def check_corpus(self, block: Block) -> None:
        """Refuse a corpus that is not that of the other workers.

        Raises:
            RunError: a worker measured a block of another corpus that begins at the same shard.
        """
        paths = (self.folder / BLOCKS).glob(f"{block.first:09d}-*.safetensors")
        if any(path.stem != block.name for path in paths):
            raise RunError(
                f"the corpus has changed since the run in {self.folder} began, or differs between "
                "its workers; give all of them the same, or start over with "
                f"{setting('overwrite=True')}."
            )

    def beat(self, block: Block) -> None:
        """Give a sign of life, if the last was some time ago."""
        self._beat(block.name)

    def keep(self, block: Block, state: State, *, last: bool) -> None:
        """Store the state of the examples of a block."""
        # Before the state, whose file is what says that the block is done.
        counted = json.dumps({"examples": state.examples}).encode()
        files.write(_counts_file(self.folder, block.name), counted, error=RunError)
        save_state(self._path(block), state, {"begins": block.digest})

    def release(self, block: Block) -> None:
        """Release the claim on a block."""
        self._release(block.name)

    def wait(self, progress: Progress | None) -> bool:
        """Wait for other processes; return whether one has given up, so that work is left."""
        pauses = _pauses()
        waiting = self._blocks
        while waiting := [block for block in waiting if not self.is_done(block)]:
            if any(self.is_abandoned(block.name) for block in waiting):
                # It may have been finished between the two checks.
                return not all(self.is_done(block) for block in waiting)
            self.show(progress)
            time.sleep(next(pauses))
        return False

    def merged(self) -> State:
        """Merge all blocks in the order of the corpus, in one process for all.

        Raises:
            RunError: a block cannot be read, or other processes have removed the blocks.
        """
        pauses = _pauses()
        while not self._claim(MERGE):
            time.sleep(next(pauses))
            self.check_there()
        try:
            state = self._checkpoint.begin(resume=True)
            if state.finished:  # by another
                return state
            state = self.begun
            for block in self._blocks:
                self._beat(MERGE)
                state = state.joined(self.read(block))
            state = state.merged()
            self._checkpoint.save(state)
            return state
        finally:
            self._release(MERGE)

    def read(self, block: Block) -> State:
        """Read the measured state of a block.

        Raises:
            RunError: it cannot be read.
        """
        path = self._path(block)
        try:
            state, notes = load_state(path)
            begins = notes["begins"]
        except (ResultError, *DAMAGED) as problem:
            why = files.why_unread(problem)
            raise RunError(f"{path} cannot be read ({why}); remove it.") from problem
        if begins != block.digest:
            raise RunError(f"{path} is of another corpus; remove it.")
        return state

    def show(self, progress: Progress | None) -> None:
        """Show the progress of all workers."""
        if progress is None:
            return
        finished = blocks_done(self.folder)
        for name in self._others.intersection(finished):
            progress.advance(examples_in(self.folder, name), 0)
        self._shown |= self._others.intersection(finished)
        self._others.difference_update(finished)
        progress.share(workers_in(self.folder), len(finished))

    def is_abandoned(self, name: str) -> bool:
        """Whether no process is at a block, or at the merge: its claim is missing or stale."""
        return is_stale(self._claim_file(name))

    def check_there(self) -> None:
        """Refuse to go on after other processes have completed the run and removed its blocks.

        Raises:
            RunError: the plan is gone.
        """
        if not (self.folder / PLAN).exists():
            raise RunError(f"the run in {self.folder} was completed or removed by another process.")

    @property
    def interrupted(self) -> str:
        """Return what is kept, and how to go on, as a sentence."""
        return (
            f"interrupted; the blocks that were finished are kept in {self.folder}. Go on with the "
            f"same command and {setting('resume=True')}."
        )

    def _claim(self, name: str) -> bool:
        """Claim a block, or the merge, unless another process is at it; return whether it did."""
        path = self._claim_file(name)
        if files.write_new(path, _signature_of_process(), error=RunError):
            return True
        if not self.is_abandoned(name):
            return False
        # Two processes may both take it over at this moment, which costs time and nothing else.
        files.write(path, _signature_of_process(), error=RunError)
        return True

    def _beat(self, name: str) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self._beaten = time.monotonic()
            files.write(self._claim_file(name), _signature_of_process(), error=RunError)

    def _release(self, name: str) -> None:
        with suppress(OSError):
            self._claim_file(name).unlink(missing_ok=True)

    def _path(self, block: Block) -> Location:
        return self.folder / BLOCKS / f"{block.name}.safetensors"

    def _claim_file(self, name: str) -> Location:
        return self.folder / CLAIMS / f"{name}.json"


def check_plan(folder: Location, signature: Mapping[str, Any], hardware: Mapping[str, Any]) -> None:
    """Refuse to share a run that was begun with other settings, or on other hardware.

    Raises:
        RunError: settings or hardware differ, or the plan in the folder is missing or damaged.
    """
    begun_with, begun_on = read_plan(folder)
    if SHARD_ELEMENTS not in begun_with:
        raise from_earlier_version(folder / PLAN)
    check_signature(folder, begun_with, signature)
    if begun_on != hardware:
        raise RunError(
            f"{folder} holds a run on {_describe(begun_on)}, and this is {_describe(hardware)}, "
            "which rounds otherwise; work on the same kind of hardware, or choose another folder "
            f"with {setting('out=')}."
        )


def read_plan(folder: Location) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the signature of a shared run, and the hardware that it was begun on.

    Raises:
        RunError: the plan is missing or damaged.
    """
    try:
        plan = files.read_json(folder / PLAN, error=RunError)
        return dict(plan["signature"]), dict(plan["hardware"])
    except (KeyError, TypeError, ValueError) as problem:
        raise RunError(
            f"{folder / PLAN} is damaged; start over with {setting('overwrite=True')}."
        ) from problem


def blocks_done(folder: Location) -> Sequence[str]:
    """Return the names of the measured blocks in a folder."""
    return sorted(path.stem for path in (folder / BLOCKS).glob("*.safetensors"))


def examples_in(folder: Location, name: str) -> int:
    """Return the number of examples in a measured block; 0 where it is not known."""
    try:
        return int(files.read_json(_counts_file(folder, name))["examples"])
    except (ResultError, KeyError, TypeError, ValueError, OverflowError):
        return 0


def _counts_file(folder: Location, name: str) -> Location:
    # Beside the state, which bars need not load to count examples.
    return folder / COUNTS / f"{name}.json"


def _describe(hardware: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in hardware.items()) or "unknown hardware"


def _signature_of_process() -> bytes:
    owner = {"host": socket.gethostname(), "process": os.getpid(), "token": PROCESS_TOKEN}
    return json.dumps(owner).encode()


def _pauses() -> Iterator[float]:
    yield from repeat(POLL, 10)
    yield from repeat(5 * POLL)
