"""Studies of texts: one pass over a corpus, each kind of attention observed by itself."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import xarray
from jaxtyping import Float
from torch import Tensor

from headlight.analysis import TextSettings
from headlight.analysis.batch_runner import (
    AttentionObserver,
    LossObserver,
    Observer,
    StreamObserver,
)
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.runner import category_names, run_study
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.analysis.word_study import CorpusStudy, GradientStudy
from headlight.capture import CapturedModel, Kind, LayerRecord, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reduce import Tally
from headlight.result.kinds import concat_kinds
from headlight.run import State

S = TypeVar("S", bound=TextSettings)
E = TypeVar("E", bound=Encoded)

Observe = Callable[[Pass, Batch, Sequence[Encoded]], Observer]
ToDataset = Callable[[Pass, State], xarray.Dataset]


def run_kinds(
    plan: StudyPlan[Encoded],
    make: Callable[[StudyPlan[Encoded]], tuple[Observe, ToDataset]],
    **options: Any,
) -> xarray.Dataset:
    """Run a plan of one kind of attention, or of all kinds at once.

    Args:
        plan: what is to be run.
        make: what makes the observers, and the dataset, of a plan of one kind; see `run_study`.
        options: of `run_study`.

    Raises:
        UsageError: contributions of several kinds are asked for at once.
    """
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
        return KindsObserver(
            {kind: observe(one, batch, examples) for kind, (observe, _) in makers.items()}
        )

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


class TextStudy(CorpusStudy[S]):
    """A study of texts; a subclass says what is observed, and what the result is.

    Where several kinds of attention are looked at, each has observers and a dataset of its own,
    made by the plan of that kind.

    Args:
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model.
        settings: of the study.
        objective: whose gradient is looked at, in studies that take one.

    Attributes:
        plan: what is run.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, objective.
        CorpusError: the corpus cannot be opened.
    """

    def __init__(
        self,
        source: TextSource,
        model: CapturedModel,
        settings: S,
        objective: Objective | None = None,
    ) -> None:
        self.model = model
        self.settings = settings
        self.plan = plan_text_study(
            self.name,
            self.title,
            source,
            model,
            settings,
            passes=self.choose_passes(objective),
            measures=self.measures,
        )
        self.prepare()

    def prepare(self) -> None:
        """Complete the plan, and refuse what the study cannot be asked for, before anything runs.

        Raises:
            UsageError: it is so.
        """

    @property
    def measures(self) -> tuple[str, ...]:
        """By which attention is looked at, where that can be chosen."""
        return tuple(getattr(self.settings, "measures", ()))

    def choose_pass(self, objective: Objective | None) -> Pass:
        """Return the pass over the corpus, for attention alone or with gradients."""
        return Pass(objective=objective)

    def choose_passes(self, objective: Objective | None) -> tuple[Pass, ...]:
        """All passes over the corpus, each of which is observed as if it were the only one."""
        return (self.choose_pass(objective),)

    @abstractmethod
    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> Observer:
        """The observer of one kind of attention in one batch."""

    @abstractmethod
    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """The result, made of what the observers of all batches saw of one kind of attention."""

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the plan, or go on with it; see `run`."""
        return run_kinds(self.plan, self._make, folder=folder, command=command, progress=progress)

    def _make(self, plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def of_pass(one: Pass) -> StudyPlan[Encoded]:
            return replace(plan, passes=(one,))

        return (
            lambda one, batch, examples: self.observe(of_pass(one), batch, examples),
            lambda one, state: self.dataset(of_pass(one), state.tally),
        )


class LossStudy(TextStudy[S], GradientStudy[S]):
    """A study of texts that can look at gradients, and so at a loss."""
