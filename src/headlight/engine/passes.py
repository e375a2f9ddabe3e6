"""Passes of a model over examples: with observers, blocks in a folder, and progress."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any, TypeVar

from headlight.encode import Encoded
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.blocks import Blocks, OwnBlocks, SharedBlocks
from headlight.engine.checkpoint import ROUNDING, Checkpoint
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.measurement import Measurement, settings_of
from headlight.engine.pass_folders import begin_pass
from headlight.engine.progress import show_progress
from headlight.engine.rounding import hardware_of, rounding_of
from headlight.engine.shard_runner import BatchJob
from headlight.engine.shards import FirstExamples
from headlight.engine.state import State
from headlight.errors import RunError
from headlight.files import make_folder
from headlight.result import calculated_with

E = TypeVar("E", bound=Encoded)


@contextmanager
def begun_pass(
    examples: Iterable[E],
    runner: BatchRunner[E],
    signature: Mapping[str, Any],
    folder: OpenFolder = NOWHERE,
    *,
    name: str = "",
    max_examples: int | None = None,
    progress: bool | str = True,
) -> Iterator[Measurement[E]]:
    """Begin or resume a pass of a model over examples; `Measurement.finish` runs it.

    Memory does not grow with the number of examples.  With a folder, what was seen is kept after
    every shard, so that an interrupted pass can be resumed.

    Args:
        examples: Examples such as `headlight.encode.texts` yields, from the beginning.
        runner: Runner of the model and its observers.
        signature: Everything that the result depends on, as JSON.
        folder: Folder of the run; if it is shared, other processes take other blocks.
        name: Name of the folder of this pass within that of the run, if it has its own.
        max_examples: Maximum number of examples.
        progress: Whether a bar is shown on standard error; a text is shown before the pass begins.

    Raises:
        RunError: the folder holds a pass with other settings or another corpus, or one begun with
            another version of torch or transformers, or where numbers are rounded otherwise.
    """
    title = progress if isinstance(progress, str) else ""
    timed = islice(examples, max_examples) if progress and runner.seconds else ()
    expected = sum(map(runner.seconds, timed)) if runner.seconds else 0.0
    display = (
        show_progress(max_examples, sys.stderr, title=title, seconds=expected)
        if progress
        else nullcontext()
    )
    job = BatchJob(
        measure=runner,
        batches=runner.batches,
        length=_length,
        shard_size=runner.shard_size,
        out_of_memory=runner.can_do_less,
        seconds=runner.seconds,
    )
    first = examples if max_examples is None else FirstExamples(examples, max_examples)
    with runner, display as bar:
        blocks = _blocks(folder, name, settings_of({**signature, **calculated_with()}, job), runner)
        yield Measurement(first, job, blocks, bar)


def measure_examples(
    examples: Iterable[E], runner: BatchRunner[E], signature: Mapping[str, Any], **options: Any
) -> State:
    """Run a model over examples, and merge what its observers see; see `begun_pass`.

    Raises:
        RunError: see `begun_pass`.
        RunInterruptedError: the user pressed Ctrl-C.
    """
    with begun_pass(examples, runner, signature, **options) as measurement:
        return measurement.finish()


def _blocks(
    folder: OpenFolder, name: str, settings: dict[str, Any], runner: BatchRunner[Any]
) -> Blocks:
    """Return the blocks of a pass, with those that are measured already."""
    place = folder.place
    if place is None:
        return OwnBlocks(None)
    if name:
        place = begin_pass(place, name)
    settings |= {ROUNDING: rounding_of(runner.device)}
    if folder.shared:
        return SharedBlocks(place, settings, hardware_of(runner.device))
    checkpoint = Checkpoint(make_folder(place, error=RunError), settings)
    return OwnBlocks(checkpoint, resume=folder.resumed)


def _length(example: Encoded) -> int:
    return len(example.ids) + len(example.target)
