"""Run of a study: its passes, one after the other, and its result."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import xarray

from headlight.capture import Kind
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.batch_size import batch_tokens
from headlight.engine.blocks import Blocks
from headlight.engine.corpus_attributes import category_names, corpus_attributes
from headlight.engine.example import NOTHING_SEEN, digest_with
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.kept_results import Origin, check_same_corpus, kept_result
from headlight.engine.measurement import Measurement
from headlight.engine.observer import KindsObserver, Observer, tally_of_kind
from headlight.engine.passes import begun_pass
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.state import State
from headlight.errors import CorpusError, UsageError
from headlight.result import joined
from headlight.result.kinds import concat_kinds

E = TypeVar("E", bound=Encoded)

Observe = Callable[[StudyPlan[E], Batch, Sequence[E]], Observer]
ToDataset = Callable[[StudyPlan[E], State], xarray.Dataset]


def run_plan(
    plan: StudyPlan[E],
    observe: Observe[E],
    to_dataset: ToDataset[E],
    *,
    folder: OpenFolder = NOWHERE,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Run a plan, or resume it, and keep its result in the folder, if there is one.

    Where several kinds of attention are observed, each has observers and a dataset of its own.

    Args:
        plan: Plan of the study; without passes the dataset is made from an empty state.
        observe: Factory of the observer of a batch, given the plan of one kind of attention and
            pass.
        to_dataset: Function that makes the result from the state of that kind and pass; the origin
            that all results name is added here.
        folder: Open folder of the run.
        command: Command that requested the run, for the record.
        progress: Whether a bar is shown on standard error.

    Raises:
        UsageError: contributions of several kinds of attention are requested.
        CorpusError: the corpus cannot be read, or holds no example.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    if plan.all_kinds and any(study_pass.attribution is not None for study_pass in plan.passes):
        raise UsageError(
            "contributions are those of one kind of attention at a time; choose one with kind, or "
            "leave attribution out of the measures."
        )
    digest = partial(_digest_of_corpus, plan) if plan.passes else None
    with (
        plan.model.unchanged(),
        kept_result(Origin.from_plan(plan), folder, command=command, digest=digest) as kept,
    ):
        if kept.result is None:
            parts = []
            for study_pass in plan.passes:
                with _begun_pass(
                    plan, study_pass, observe, folder, progress=progress
                ) as measurement:
                    state = measurement.finish()
                    _check_examples(plan, state, measurement.blocks)
                    if plan.end_rows is not None and study_pass.measures:
                        plan.end_rows(partial(measurement.blocks.rows, state.shards))
                parts.append(_part(plan, study_pass, state, to_dataset))
            kept.save(_join(plan, parts) if parts else to_dataset(plan, State()))
    assert kept.result is not None  # noqa: S101 - it was there, or was computed
    return kept.result


def _begun_pass(
    plan: StudyPlan[E], study_pass: Pass, observe: Observe[E], folder: OpenFolder, *, progress: bool
) -> AbstractContextManager[Measurement[E]]:
    """Begin or resume a pass of the plan."""
    by_kind = _plans_by_kind(plan, study_pass)

    def observer(batch: Batch, examples: Sequence[E]) -> Observer:
        if not plan.all_kinds:
            return observe(by_kind[plan.kind], batch, examples)
        return KindsObserver(
            {kind: observe(part, batch, examples) for kind, part in by_kind.items()}
        )

    runner = BatchRunner(
        plan.model,
        plan.sites,
        observer,
        batch_tokens(plan.model, plan.settings),
        objective=study_pass.objective,
        attribution=study_pass.attribution,
        query_block=plan.query_block,
        residual=study_pass.residual,
        begin_shard=plan.begin_shard,
        seconds=plan.seconds,
    )
    return begun_pass(
        plan.examples,
        runner,
        plan.signature(study_pass),
        folder,
        name=study_pass.folder,
        max_examples=plan.max_examples,
        progress=progress and (plan.title_of(study_pass) or True),
    )


def _check_examples(plan: StudyPlan[Any], state: State, blocks: Blocks) -> None:
    """Refuse a corpus without examples, or one that differs from that of a finished pass."""
    if not state.examples:
        blocks.forget()  # nothing to resume from
        raise CorpusError(
            f"{plan.source}: no example could be made of it for {plan.model}; {plan.if_empty}"
        )
    # By an earlier process: this one has not read the corpus.
    if blocks.place is not None and blocks.begun.finished:
        check_same_corpus(_digest_of_corpus(plan), state.digest, blocks.place)


def _part(
    plan: StudyPlan[E], study_pass: Pass, state: State, to_dataset: ToDataset[E]
) -> xarray.Dataset:
    """Return the result of a pass, with attributes of the corpus that was read."""
    read = corpus_attributes(plan, state)  # before examples are read again
    by_kind = _plans_by_kind(plan, study_pass)
    if plan.all_kinds:
        datasets: dict[str, xarray.Dataset] = {}
        for kind, part in by_kind.items():
            seen = replace(state, tally=tally_of_kind(state.tally, kind))
            datasets[kind] = to_dataset(part, seen).assign_attrs(category_names(part))
        result = concat_kinds(datasets)
    else:
        result = to_dataset(by_kind[plan.kind], state)
    return result.assign_attrs(read | result.attrs)


def _plans_by_kind(plan: StudyPlan[E], study_pass: Pass) -> dict[Kind, StudyPlan[E]]:
    parts = plan.by_kind() if plan.all_kinds else {plan.kind: plan}
    return {kind: replace(part, passes=(study_pass,)) for kind, part in parts.items()}


def _join(plan: StudyPlan[Any], parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    result = joined(parts)
    several = len(parts) > 1 and plan.measures
    return result.sel(measure=list(plan.measures)) if several else result


def _digest_of_corpus(plan: StudyPlan[Any]) -> str:
    """Digest the corpus without the model; its counts then say what was left out."""
    digest = NOTHING_SEEN
    for example in islice(plan.examples, plan.max_examples):
        digest = digest_with(digest, example)
    return digest
