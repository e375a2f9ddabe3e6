"""Several kinds of attention in one run, each observed by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.corpus_attributes import category_names
from headlight.analysis.observers import AttentionObserver, LossObserver, Observer, StreamObserver
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.runner import run_study
from headlight.capture import Kind, LayerRecord
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reduce import Tally
from headlight.result.kinds import concat_kinds
from headlight.run import State

Observe = Callable[[Pass, Batch, Sequence[Encoded]], Observer]
ToDataset = Callable[[Pass, State], xarray.Dataset]


def run_kinds(
    plan: StudyPlan[Encoded],
    make: Callable[[StudyPlan[Encoded]], tuple[Observe, ToDataset]],
    **options: Any,
) -> xarray.Dataset:
    """Run a plan of one kind of attention, or of all at once; `make` gives what one kind needs."""
    if not plan.all_kinds:
        return run_study(plan, *make(plan), **options)
    if any(one.attribution is not None for one in plan.passes):
        raise UsageError(
            "contributions are those of one kind of attention at a time; choose one with kind, or "
            "leave attribution out of the measures."
        )
    parts = plan.by_kind()
    makers = {kind: make(part) for kind, part in parts.items()}

    def observer(one: Pass, batch: Batch, examples: Sequence[Encoded]) -> KindsObserver:
        observers = {kind: observe(one, batch, examples) for kind, (observe, _) in makers.items()}
        return KindsObserver(observers)

    def to_dataset(one: Pass, state: State) -> xarray.Dataset:
        by_kind = {
            kind: to_dataset(one, replace(state, tally=tally_of(state.tally, kind)))
            for kind, (_, to_dataset) in makers.items()
        }
        return concat_kinds(
            {kind: each.assign_attrs(category_names(parts[kind])) for kind, each in by_kind.items()}
        )

    return run_study(plan, observer, to_dataset, **options)


class KindsObserver:
    """Hands each layer to the observer of its kind; what they saw is one tally."""

    def __init__(self, observers: Mapping[Kind, Observer]) -> None:
        self._observers = observers
        self.wants_stream = any(
            isinstance(each, StreamObserver) and each.wants_stream for each in observers.values()
        )

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer."""
        observer = self._observers[record.site.kind]
        if isinstance(observer, AttentionObserver):
            observer.visit(record)

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each text, for those that want to know it."""
        for observer in self._observers.values():
            if isinstance(observer, LossObserver):
                observer.note_losses(losses)

    def tally(self) -> Tally:
        """Return the tally of all kinds."""
        return Tally(
            {
                f"{kind}/{name}": member
                for kind, observer in self._observers.items()
                for name, member in observer.tally().items()
            }
        )


def tally_of(tally: Tally, kind: Kind) -> Tally:
    """Return the tally of the observers of a kind."""
    start = f"{kind}/"
    return Tally(
        {name.removeprefix(start): each for name, each in tally.items() if name.startswith(start)}
    )
