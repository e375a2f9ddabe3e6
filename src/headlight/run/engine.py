"""One pass over a corpus, in shards, that survives interruptions."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Generic, TypeVar

from headlight.errors import RunError, RunInterruptedError
from headlight.files import Location, make_folder
from headlight.reduce import Tree
from headlight.run.checkpoint import Checkpoint, State
from headlight.run.example import NOTHING_SEEN, Example, Seekable, digest_with, place_in
from headlight.run.progress import Progress
from headlight.run.shards import BatchJob, ShardRunner

E = TypeVar("E", bound=Example)


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

    Batches are merged in the order in which `work.batches` gives them, and shards as `Tree` does.
    So a run that was interrupted and resumed, any number of times, ends
    with the same bits as one that was not. Memory holds a shard or two, never the corpus.

    Args:
        examples: The corpus; when resuming, from its beginning again.  Where iterating gives a
            `headlight.run.example.Seekable`, what is done is passed over, and else made again.
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
        self.shards = ShardRunner(work, progress)

    def go_on(self, examples: Iterator[E]) -> State:
        self._skip(examples)
        while not self.state.finished:
            state = measure_shard(self.shards, self.state, examples)
            state = state.merged() if state.finished else state
            if self.checkpoint:
                self.checkpoint.save(state)
            self.state = state
        return self.state

    def _skip(self, examples: Iterator[E]) -> None:
        skip_done(examples, self.state)
        if self.state.examples and self.progress is not None:  # an empty bar counts as false
            self.progress.skip(self.state.examples, self.state.tokens)


def measure_shard(shards: ShardRunner[E], state: State, examples: Iterator[E]) -> State:
    """The state once the next shard is measured; a shard that is not full is the last one."""
    shard = list(islice(examples, shards.work.shard_size))
    digest = state.digest
    for example in shard:
        digest = digest_with(digest, example)
    tally = shards.measure(shard)
    found = State(
        tree=Tree().push(tally) if shard else Tree(),
        examples=len(shard),
        tokens=shards.tokens(shard),
        digest=digest,
        finished=len(shard) < shards.work.shard_size,
        place=place_in(examples),
    )
    return state.joined(found)


def skip_done(examples: Iterator[E], state: State) -> None:
    """Pass over what is done, and make sure that it is what was done.

    Args:
        examples: from the beginning of the corpus; where they can be passed over without being
            made, from anywhere before.
        state: behind what is done.

    Raises:
        RunError: the corpus begins with other examples.
    """
    if state.place is not None and isinstance(examples, Seekable):
        if not examples.go_to(state.place):
            raise _changed(state)
        return
    digest, passed = NOTHING_SEEN, 0
    for example in islice(examples, state.examples):
        digest, passed = digest_with(digest, example), passed + 1
    if digest != state.digest:
        raise _changed(state, f", which has only {passed} now" if passed < state.examples else "")


def _changed(state: State, shorter: str = "") -> RunError:
    return RunError(
        f"the corpus has changed since this run began: its first {state.examples} examples are "
        f"no longer the same{shorter}. Restore it, or begin anew in another folder with --out."
    )


def _how_to_go_on(state: State, folder: Location | None) -> str:
    if folder is None:
        return "interrupted; nothing is kept, because the run had no folder."
    return (
        f"interrupted; {state.examples} examples are done and kept in {folder}. Go on with the "
        "same command and --resume."
    )
