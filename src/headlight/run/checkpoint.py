"""The state of a run, shard by shard, on disk."""

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from headlight import files
from headlight.errors import ResultError, RunError, UsageError, setting
from headlight.files import Location
from headlight.reduce import Tally, Tree
from headlight.run.example import NOTHING_SEEN, Example, join_digests
from headlight.run.progress import Progress

FILE = "checkpoint.safetensors"
LOCK = ".lock"
DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors raised by reading a state whose digest is right, and whose content is not."""
SHARD_ELEMENTS = "shard_elements"
"""Among the settings of a run, how many elements of the corpus a shard has at most."""
ROUNDING = "rounding"
"""Among the settings of a run, how libraries round on the device that it was begun on."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a run: its progress and its tally."""

    tally: Tally = field(default_factory=Tally)
    """Everything that was seen, once the corpus is at its end."""
    tree: Tree = field(default_factory=Tree)
    """Everything that was seen so far, before the end of the corpus."""
    shards: int = 0
    """Number of shards that are measured."""
    examples: int = 0
    tokens: int = 0
    digest: str = NOTHING_SEEN
    """Digest of the examples so far, see `headlight.run.example.digest_with`."""
    read: str = ""
    """Digest of what was read so far, see `headlight.run.example.ShardReader.digest`."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Numbers of elements so far by what became of them; empty where that is not known."""
    finished: bool = False
    """Whether the corpus is at its end."""

    def joined(self, following: "State") -> "State":
        """The state after what comes next, of which the following one was made alone."""
        return replace(
            following,
            tree=self.tree.join(following.tree),
            shards=self.shards + following.shards,
            examples=self.examples + following.examples,
            tokens=self.tokens + following.tokens,
            digest=join_digests(self.digest, following.digest),
            counts={
                name: self.counts.get(name, 0) + following.counts.get(name, 0)
                for name in {**self.counts, **following.counts}
            },
        )

    def merged(self) -> "State":
        """The final state, in which everything is one tally."""
        return replace(self, tally=self.tree.result(), tree=Tree(), finished=True)


class Checkpoint:
    """The state of a run in a folder.

    State and tally are ONE file, so that one renaming commits both: a process that is killed at any
    moment leaves either the old state or the new one.

    Args:
        folder: The folder of the run.
        signature: All settings that the result depends on, as JSON.
    """

    def __init__(self, folder: Location, signature: Mapping[str, Any]) -> None:
        self.path = folder / FILE
        self.signature = json.loads(json.dumps(dict(signature)))  # as it will come back from disk

    def begin(self, *, resume: bool) -> State:
        """The state to begin with: that of the file if there is one, else nothing seen.

        Raises:
            UsageError: if there is a state, but the user does not want to go on from it.
            RunError: if the state is one of a run with other settings, or cannot be read.
        """
        if not self.path.exists():
            return State()
        if not resume:
            raise UsageError(
                f"{self.path.parent} holds a run already; go on with {setting('resume=True')}, or "
                f"choose another folder with {setting('out=')}."
            )
        return self._load()

    def save(self, state: State) -> None:
        """Replace the state on disk.

        Raises:
            RunError: if the disk is full, the folder is read-only, and so on.
        """
        save_state(self.path, state, {"signature": self.signature})

    def _load(self) -> State:
        try:
            state, notes = load_state(self.path)
            signature = notes["signature"]
        except (ResultError, *DAMAGED) as problem:
            raise RunError(
                f"{self.path} cannot be read ({problem}); remove it, or choose another folder "
                f"with {setting('out=')}."
            ) from problem
        check_signature(self.path.parent, signature, self.signature)
        return state


def save_state(path: Location, state: State, notes: Mapping[str, Any]) -> None:
    """Write a state, and whatever else is to be known of it, as JSON.

    Raises:
        RunError: if the disk is full, the folder is read-only, and so on.
    """
    levels = [level for level, _ in state.tree.nodes]
    parts = Tally({**state.tree.flat(), **{f"{_WHOLE}/{k}": v for k, v in state.tally.items()}})
    parts.save(path, {**notes, "state": _counters_of(state), "levels": levels}, error=RunError)


def load_state(path: Location) -> tuple[State, dict[str, Any]]:
    """Load a state that `save_state` wrote, and its notes.

    Raises:
        RunError: if the file was written by a version that cut the corpus into other shards.
        ResultError: if it is missing, damaged, or something else.
    """
    tally, notes = Tally.load(path)
    counters = notes["state"]
    if "levels" not in notes or "shards" not in counters:
        raise from_earlier_version(path)
    counted = _state_of(counters)
    start = f"{_WHOLE}/"
    whole = {name: each for name, each in tally.items() if name.startswith(start)}
    tree = Tree.from_flat(
        Tally({k: v for k, v in tally.items() if k not in whole}), notes["levels"]
    )
    everything = Tally({name.removeprefix(start): each for name, each in whole.items()})
    return replace(counted, tally=everything, tree=tree), notes


def _counters_of(state: State) -> dict[str, Any]:
    """Return the progress of a state, without its tally, as JSON."""
    return {name: getattr(state, name) for name in _COUNTERS}


def _state_of(counters: Mapping[str, Any]) -> State:
    """A state that has come so far, and found nothing."""
    return State(**{name: counters[name] for name in _COUNTERS})


def from_earlier_version(path: Location) -> RunError:
    """Return the error for a state that cannot be resumed."""
    return RunError(
        f"{path} is of an earlier version of Headlight, which cut the corpus into other shards; "
        f"finish the run with that version, or start over with {setting('overwrite=True')}."
    )


def check_signature(folder: Location, own: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to go on with a run that was begun with other settings.

    Raises:
        RunError: something differs.
    """
    names = sorted(own.keys() | wanted.keys())
    different = [name for name in names if own.get(name) != wanted.get(name)]
    if different == [ROUNDING]:
        raise RunError(
            f"{folder} holds a run that was begun where numbers are rounded otherwise: "
            f"{_short(own, ROUNDING)} there, {_short(wanted, ROUNDING)} here. Go on with the "
            "same kind of processor and the same libraries, or choose another folder with "
            f"{setting('out=')}."
        )
    if different:
        changes = "; ".join(
            f"{setting(name)} was {_short(own, name)} and is now {_short(wanted, name)}"
            for name in different
        )
        raise RunError(
            f"{folder} holds a run with other settings: {changes}. Repeat the old settings, or "
            f"choose another folder with {setting('out=')}."
        )


@contextmanager
def locked(folder: Location) -> Iterator[None]:
    """Make the folder if need be, keep other runs out of it, and clear away what killed ones left.

    The operating system lets go of the lock when the process ends, however it ends.  A store has no
    locks: there, nothing keeps a second process out.  A folder in which nothing was written after
    all is not left behind.

    Raises:
        RunError: if the folder cannot be made or written to, or another process works in it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_made(folder))
            if isinstance(folder, Path):
                stack.enter_context(_taken(folder))
                files.remove_partials(folder)
        except Timeout:
            raise RunError(
                f"{folder} is in use by another run (process {_owner(folder)}); wait for it, or "
                f"choose another folder with {setting('out=')}."
            ) from None
        except OSError as problem:
            raise RunError(f"{folder} cannot be used: {files.reason(problem)}.") from problem
        yield


def check_unlocked(folder: Location) -> None:
    """Make the folder if need be, and refuse it if a process has it to itself.

    Raises:
        RunError: it cannot be made, or another process works in it alone.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(folder, Path):
            with FileLock(folder / LOCK).acquire(timeout=2):  # others look as well
                (folder / LOCK).unlink(missing_ok=True)  # while it is ours, and nobody else's
    except Timeout:
        raise RunError(
            f"{folder} is in use by a run without workers (process {_owner(folder)}); wait for it, "
            "or stop it and try again."
        ) from None
    except OSError as problem:
        raise RunError(f"{folder} cannot be used: {files.reason(problem)}.") from problem


@contextmanager
def _made(folder: Location) -> Iterator[None]:
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if is_new and isinstance(folder, Path):
            with suppress(OSError):  # something is in it
                folder.rmdir()


@contextmanager
def _taken(folder: Path) -> Iterator[None]:
    path = folder / LOCK
    _refuse_link(path)
    with FileLock(path).acquire(blocking=False):
        with suppress(OSError):  # Windows lets nobody write to a locked file
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | _NO_LINKS)
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{os.getpid()}\n")
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it when it lets go of it
                path.unlink()


def _refuse_link(path: Path) -> None:
    """Nothing is written into a file that has another name as well, or is no file."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise RunError(
                f"{path} is a link, or no file, and not the lock of a run; remove it, or choose "
                f"another folder with {setting('out=')}."
            )


def _owner(folder: Location) -> str:
    """The number of the process that has the lock, as far as it can be read."""
    with suppress(ResultError, ValueError):
        return str(int(files.read(folder / LOCK, own=True, most=_NUMBER)))
    return "unknown"


_NUMBER = 64
"""Bytes of the number of a process."""
_WHOLE = "all"
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_COUNTERS = tuple(each.name for each in fields(State) if each.name not in ("tally", "tree"))


def _short(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "not set"
    text = json.dumps(settings[name], ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
