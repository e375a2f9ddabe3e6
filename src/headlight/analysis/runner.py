"""Running a study: its passes, one after the other, and its result."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import xarray

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.batch_size import batch_tokens
from headlight.analysis.corpus_attributes import corpus_attributes
from headlight.analysis.kept_results import Origin, check_same_corpus, keep_result
from headlight.analysis.observers import Observer
from headlight.analysis.passes import observe
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import CorpusError
from headlight.files import Location
from headlight.result import joined
from headlight.run import State
from headlight.run.checkpoint import FILE as CHECKPOINT
from headlight.run.example import NOTHING_SEEN, digest_with
from headlight.run.pass_folders import begin_pass
from headlight.run.shards import ShardReader, read_shards
from headlight.run.shared_run import Mode

E = TypeVar("E", bound=Encoded)


def run_study(
    plan: StudyPlan[E],
    observer: Callable[[Pass, Batch, Sequence[E]], Observer],
    to_dataset: Callable[[Pass, State], xarray.Dataset],
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Run the plan, or go on with it, and keep its result in the folder, if there is one.

    Args:
        plan: what is to be run.
        observer: makes the observer of one batch of one pass.
        to_dataset: makes the result of what was seen in a pass; what all results say of their
            origin is added here.
        folder: see `RunFolder`.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Raises:
        CorpusError: the corpus cannot be read, or holds no example.
        RunError: the run in the folder is of another model, corpus or setting.
    """

    def compute(place: Location | None) -> xarray.Dataset:
        mode = (folder or RunFolder()).mode
        parts: list[xarray.Dataset] = []
        for one in plan.passes:
            state = _run_pass(plan, one, observer, place, mode=mode, progress=progress)
            read = corpus_attributes(plan, state)  # before examples are read again
            part = to_dataset(one, state)
            parts.append(part.assign_attrs(read | part.attrs))
        result = joined(parts)
        several = len(parts) > 1 and plan.measures
        return result.sel(measure=list(plan.measures)) if several else result

    with plan.model.unchanged():
        origin, digest = Origin.of(plan), partial(_digest_of_corpus, plan)
        return keep_result(origin, compute, folder=folder, command=command, digest=digest)


def _run_pass(
    plan: StudyPlan[E],
    one: Pass,
    observer: Callable[[Pass, Batch, Sequence[E]], Observer],
    place: Location | None,
    *,
    mode: Mode,
    progress: bool,
) -> State:
    def observe_batch(batch: Batch, examples: Sequence[E]) -> Observer:
        return observer(one, batch, examples)

    place = begin_pass(place, one.folder) if place and one.folder else place
    runner = BatchRunner(
        plan.model,
        plan.sites,
        observe_batch,
        batch_tokens(plan.model, plan.settings),
        objective=one.objective,
        attribution=one.attribution,
        query_block=plan.query_block,
        residual=one.residual,
        begin_shard=plan.begin_shard,
        seconds=plan.seconds,
    )
    examples = _Watched(plan.examples)
    state = observe(
        examples,
        runner,
        signature=plan.signature(one),
        folder=place,
        mode=mode,
        max_examples=plan.max_examples,
        progress=progress and (plan.title_of(one) or True),
    )
    if not state.examples:
        if place:  # nothing to go on from
            (place / CHECKPOINT).unlink(missing_ok=True)
        raise CorpusError(
            f"{plan.source}: no example could be made of it for {plan.model}; {plan.if_empty}"
        )
    if place and not examples.begun:  # observed by an earlier process
        check_same_corpus(_digest_of_corpus(plan), state.digest, place)
    return state


class _Watched(Iterable[E]):
    """Examples of which it is known whether anybody began to read them."""

    def __init__(self, examples: Iterable[E]) -> None:
        self._examples = examples
        self.begun = False

    def __iter__(self) -> Iterator[E]:
        self.begun = True
        return iter(self._examples)

    def shards(self, size: int) -> ShardReader[E]:
        """See `headlight.run.shards.Sharded`."""
        self.begun = True
        return read_shards(self._examples, size)


def _digest_of_corpus(plan: StudyPlan[Any]) -> str:
    """Read the corpus without the model; its counts then say what was left out."""
    digest = NOTHING_SEEN
    for example in islice(plan.examples, plan.max_examples):
        digest = digest_with(digest, example)
    return digest
