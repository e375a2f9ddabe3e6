"""One pass over a corpus, in shards, that survives interruptions."""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from headlight.errors import RunError, RunInterruptedError, setting
from headlight.files import Location, make_folder
from headlight.reduce import Tree
from headlight.run.checkpoint import SHARD_ELEMENTS, Checkpoint
from headlight.run.example import NOTHING_SEEN, Example, digest_with
from headlight.run.progress import Progress
from headlight.run.shard_runner import BatchJob, ShardRunner
from headlight.run.shards import ShardReader, read_shards
from headlight.run.state import State

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
        examples: The corpus; when resuming, from its beginning again.  Of one that is
            `headlight.run.shards.Sharded`, what is done is passed over, and else made again.
        work: What to do with it.
        folder: Where to keep the state, made if need be; None keeps it in memory only. Its lock is
            the caller's, see `headlight.run.lock.locked`.
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
    settings = settings_of(signature, work)
    checkpoint = None
    if folder is not None:
        checkpoint = Checkpoint(make_folder(folder, error=RunError), settings)
    state = checkpoint.begin(resume=resume) if checkpoint else State()
    if state.finished:
        return state
    engine = _Engine(work, state, checkpoint, progress)
    try:
        return engine.go_on(read_shards(examples, work.shard_size))
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

    def go_on(self, reader: ShardReader[E]) -> State:
        self._skip(reader)
        while not self.state.finished:
            state = self.state if reader.at_end else measure_shard(self.shards, self.state, reader)
            state = state.merged() if reader.at_end else state
            if self.checkpoint:
                self.checkpoint.save(state)
            self.state = state
        return self.state

    def _skip(self, reader: ShardReader[E]) -> None:
        skip_done(reader, self.state)
        if self.state.examples and self.progress is not None:  # an empty bar counts as false
            self.progress.skip(self.state.examples, self.state.tokens)


def settings_of(signature: Mapping[str, Any], work: BatchJob[Any]) -> dict[str, Any]:
    """Everything that a state depends on, how the corpus is cut included."""
    return {**signature, SHARD_ELEMENTS: work.shard_size}


def measure_shard(shards: ShardRunner[E], state: State, reader: ShardReader[E]) -> State:
    """The state once the next shard is measured."""
    shard, counts = reader.take()
    digest = NOTHING_SEEN
    for example in shard:
        digest = digest_with(digest, example)
    next_state = State(
        tree=Tree().push(shards.measure(shard)),
        shards=1,
        examples=len(shard),
        tokens=shards.tokens(shard),
        digest=digest,
        read=reader.digest,
        counts=counts,
    )
    return state.joined(next_state)


def skip_done(reader: ShardReader[E], state: State) -> None:
    """Pass over what is done, and make sure that it is what was done.

    Args:
        reader: at the beginning of the corpus.
        state: behind what is done.

    Raises:
        RunError: the corpus begins otherwise.
    """
    for passed in range(state.shards):
        if reader.at_end:
            raise _changed(state, f", and it ends after {passed} of {state.shards} shards now")
        reader.skip()
    if state.shards and reader.digest != state.read:
        raise _changed(state)


def _changed(state: State, shorter: str = "") -> RunError:
    return RunError(
        f"the corpus has changed since this run began: its first {state.examples} examples are no "
        f"longer the same{shorter}. Restore it, or start over in another folder with "
        f"{setting('out=')}."
    )


def _how_to_go_on(state: State, folder: Location | None) -> str:
    if folder is None:
        return "interrupted; nothing is kept, because the run had no folder."
    return (
        f"interrupted; {state.examples} examples are done and kept in {folder}. Go on with the "
        f"same command and {setting('resume=True')}."
    )
