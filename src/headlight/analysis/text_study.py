"""What studies of texts share: one pass over a corpus, for each kind of attention."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import xarray

from headlight.analysis.batch_runner import AttentionObserver
from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.settings import TextSettings
from headlight.analysis.study import CorpusStudy, GradientStudy
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Tally

S = TypeVar("S", bound=TextSettings)


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
            passes=(self.choose_pass(objective),),
            measures=self.measures,
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """By which attention is looked at, where that can be chosen."""
        return ()

    def choose_pass(self, objective: Objective | None) -> Pass:
        """What one pass over the corpus computes: attention alone, or gradients as well."""
        return Pass(objective=objective)

    @abstractmethod
    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> AttentionObserver:
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
        return (
            lambda _, batch, examples: self.observe(plan, batch, examples),
            lambda _, state: self.dataset(plan, state.tally),
        )


class LossStudy(TextStudy[S], GradientStudy[S]):
    """A study of texts that can look at gradients, and so at a loss."""
