"""One pass of a model over a stream of examples, in shards and batches, with progress."""

import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from headlight.analysis.batch_runner import BatchRunner
from headlight.capture.memory import out_of_memory
from headlight.encode import Encoded, length_batches
from headlight.files import Location
from headlight.result import calculated_with
from headlight.run import BatchJob, State, run, show_progress

E = TypeVar("E", bound=Encoded)


def observe(
    examples: Iterable[E],
    step: BatchRunner[E],
    *,
    signature: Mapping[str, Any],
    folder: Location | None = None,
    resume: bool = False,
    max_examples: int | None = None,
    progress: bool = True,
) -> State:
    """Run the model over the examples, and merge what the observers see.

    Memory does not grow with the number of examples.  With a folder, what was seen is kept after
    every shard, so that an interrupted pass can be resumed.

    Args:
        examples: such as `headlight.encode.texts` yields; when resuming, from the beginning again.
        step: the model and who observes it; it is opened and closed here.
        signature: all settings that the result depends on, as JSON.
        folder: where to keep the state; None keeps it in memory.
        resume: go on from the state in the folder.
        max_examples: stop after so many.
        progress: show a bar on standard error.

    Raises:
        RunError: the folder holds a pass with other settings or another corpus, or one begun with
            another version of torch or transformers.
        RunInterruptedError: the user pressed Ctrl-C.
    """
    shown = show_progress(max_examples, sys.stderr) if progress else nullcontext()
    with step, shown as bar:
        work = BatchJob(
            measure=step,
            batches=partial(length_batches, token_budget=step.batch_tokens),
            length=_length,
            shard_size=step.shard_size,
            out_of_memory=out_of_memory,
        )
        return run(
            islice(examples, max_examples),
            work,
            folder=folder,
            signature={**signature, **calculated_with()},
            resume=resume,
            progress=bar,
        )


def _length(example: Encoded) -> int:
    return len(example.ids) + len(example.target)
