"""One pass over a corpus, in shards, that survives interruptions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from headlight.errors import RunError, RunInterruptedError
from headlight.files import Location, make_folder
from headlight.reduce import Tally
from headlight.run.checkpoint import Checkpoint, State
from headlight.run.example import Example, digest_with
from headlight.run.progress import Progress

E = TypeVar("E", bound=Example)


@dataclass(frozen=True, slots=True)
class BatchJob(Generic[E]):
    """What is done with the examples; it must not depend on anything else than its arguments.

    Attributes:
        measure: One batch in, what was seen in it out, as a new tally.
        batches: A shard in, the batches out, as positions in the shard, each exactly once.
        length: The number of tokens of an example.
        out_of_memory: Whether an error means that a smaller batch may succeed.
        shard_size: Examples between two checkpoints; a kill loses at most so many.
    """

    measure: Callable[[Sequence[E]], Tally]
    batches: Callable[[Sequence[E]], Sequence[Sequence[int]]]
    length: Callable[[E], int]
    out_of_memory: Callable[[BaseException], bool]
    shard_size: int = 256


def run(
    examples: Iterable[E],
    work: BatchJob[E],
    *,
    folder: Location | None = None,
    signature: Mapping[str, Any],
    resume: bool = False,
    progress: Progress | None = None,
) -> State:
    """Measure all examples, and keep what was found in a folder after every shard.

    Shards are taken in the order of the corpus, and batches are merged in the order in which
    `work.batches` gives them. So a run that was interrupted and resumed, any number of times, ends
    with the same bits as one that was not. Memory holds a shard or two, never the corpus.

    Args:
        examples: The corpus; when resuming, from its beginning again.
        work: What to do with it.
        folder: Where to keep the state, made if need be; None keeps it in memory only. Its lock is
            the caller's, see `headlight.run.checkpoint.locked`.
        signature: All settings that the result depends on, as JSON; a state with others is refused.
        resume: Go on from the state in the folder, if there is one.
        progress: Callbacks for how far the run has come.

    Returns:
        The final state. A run that was finished before returns at once, without the corpus.

    Raises:
        UsageError: if the folder holds a state and `resume` is false.
        RunError: if the folder cannot be written, if settings or corpus are not those of the state,
            or if memory does not even suffice for one example.
        RunInterruptedError: if the user pressed Ctrl-C.
    """
    settings = {**signature, "shard_size": work.shard_size}
    checkpoint = None
    if folder is not None:
        checkpoint = Checkpoint(make_folder(folder, error=RunError), settings)
    state = checkpoint.begin(resume=resume) if checkpoint else State()
    if state.finished:
        return state
    engine = _Engine(work, state, checkpoint, progress)
    try:
        return engine.go_on(iter(examples))
    except KeyboardInterrupt:
        raise RunInterruptedError(_how_to_go_on(engine.state, folder)) from None


class _Engine(Generic[E]):
    """The run itself; `state` is always what the checkpoint holds."""

    def __init__(
        self,
        work: BatchJob[E],
        state: State,
        checkpoint: Checkpoint | None,
        progress: Progress | None,
    ) -> None:
        self.work = work
        self.state = state
        self.checkpoint = checkpoint
        self.progress = progress
        self.limit = state.limit

    def go_on(self, examples: Iterator[E]) -> State:
        self._skip(examples)
        while not self.state.finished:
            shard = list(islice(examples, self.work.shard_size))
            state = self._after(shard)
            if self.checkpoint:
                self.checkpoint.save(state)
            self.state = state
        return self.state

    def _skip(self, examples: Iterator[E]) -> None:
        """Pass over what is done, and make sure that it is what was done."""
        digest, passed = State().digest, 0
        for example in islice(examples, self.state.examples):
            digest, passed = digest_with(digest, example), passed + 1
        if digest != self.state.digest:
            shorter = f", which has only {passed} now" if passed < self.state.examples else ""
            raise RunError(
                f"the corpus has changed since this run began: its first {self.state.examples} "
                f"examples are no longer the same{shorter}. Restore it, or begin anew in another "
                "folder with --out."
            )
        if passed and self.progress is not None:  # an empty bar counts as false
            self.progress.skip(passed, self.state.tokens)

    def _after(self, shard: Sequence[E]) -> State:
        """The state once the shard is measured; a shard that is not full is the last one."""
        seen, digest = Tally(), self.state.digest
        for batch in self._batches(shard):
            seen = self._measured(batch, seen)
        for example in shard:
            digest = digest_with(digest, example)
        return replace(
            self.state,
            tally=self.state.tally.merge(seen),
            examples=self.state.examples + len(shard),
            tokens=self.state.tokens + sum(map(self.work.length, shard)),
            digest=digest,
            limit=self.limit,
            finished=len(shard) < self.work.shard_size,
        )

    def _batches(self, shard: Sequence[E]) -> Iterator[Sequence[E]]:
        if not shard:
            return
        plan = self.work.batches(shard)
        if sorted(place for batch in plan for place in batch) != list(range(len(shard))):
            raise RunError("the batches do not hold every example of a shard exactly once.")
        for batch in plan:
            yield [shard[place] for place in batch]

    def _measured(self, batch: Sequence[E], seen: Tally) -> Tally:
        """Merge what is seen in a batch; halve the batch for as long as memory does not suffice."""
        if self._fits(batch):
            found = self._attempt(batch)
            if found is not None:
                self._tell(batch)
                return seen.merge(found)
            self._shrink(batch)
        half = _half(batch)
        return self._measured(batch[half:], self._measured(batch[:half], seen))

    def _fits(self, batch: Sequence[E]) -> bool:
        size = len(batch) * self._longest(batch)
        return self.limit is None or len(batch) == 1 or size <= self.limit

    def _longest(self, batch: Sequence[E]) -> int:
        return max(map(self.work.length, batch))

    def _attempt(self, batch: Sequence[E]) -> Tally | None:
        """What is seen in the batch, or None if memory ran out.

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
        """Remember what failed, so that later batches are halved before they fail."""
        self.limit = _half(batch) * self._longest(batch)
        if self.progress is not None:
            self.progress.note(
                f"memory ran out; batches have at most {self.limit} tokens from now on"
            )

    def _tell(self, batch: Sequence[E]) -> None:
        if self.progress is not None:
            self.progress.advance(len(batch), sum(map(self.work.length, batch)))


def _half(batch: Sequence[E]) -> int:
    return (len(batch) + 1) // 2


def _how_to_go_on(state: State, folder: Location | None) -> str:
    if folder is None:
        return "interrupted; nothing is kept, because the run had no folder."
    return (
        f"interrupted; {state.examples} examples are done and kept in {folder}. Go on with the "
        "same command and --resume."
    )
