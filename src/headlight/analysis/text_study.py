"""What studies of texts share: one pass over a corpus, for each kind of attention."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import xarray

from headlight.analysis.batch_runner import AttentionObserver
from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.settings import TextSettings
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Tally

S = TypeVar("S", bound=TextSettings)


class TextStudy(ABC, Generic[S]):
    """A study of texts; a subclass says what is observed, and what the result is.

    Where several kinds of attention are looked at, each has observers and a dataset of its own,
    made by the plan of that kind.

    Args:
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model.
        settings: of the study.
        objective: whose gradient is looked at, in studies that take one.

    Attributes:
        name: of the study.
        title: what the result is about.
        settings_class: of its settings.
        plan: what is run.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, objective.
        CorpusError: the corpus cannot be opened.
    """

    name: str
    title: str
    settings_class: type[S]

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

    @classmethod
    def run(
        cls,
        source: TextSource,
        model: CapturedModel,
        settings: S | None = None,
        *,
        folder: RunFolder | None = None,
        command: str | None = None,
        progress: bool = True,
    ) -> xarray.Dataset:
        """Run the study.

        Memory does not grow with the corpus.  With a folder, what was found is kept after every
        shard, so that an interrupted run can be resumed, and ends in ``result.nc``.

        Args:
            source: see `headlight.analysis.text_plan.TextSource`.
            model: the model.
            settings: of the study; by default those of its class.
            folder: see `RunFolder`; without one nothing is kept.
            command: how it was asked for, for the record.
            progress: show a bar on standard error.

        Returns:
            What the class says; layers and heads are zero-based.

        Raises:
            UsageError: something does not fit together: layers, kinds, lengths, folder.
            CorpusError: the corpus cannot be read, or holds no example.
            UnsupportedModelError: the attention of the model cannot be captured exactly.
            CaptureError: what is computed is not finite.
            RunError: the run in the folder is of another model, corpus or setting.
        """
        study = cls(source, model, settings or cls.settings_class())
        return study.result(folder=folder, command=command, progress=progress)


class LossStudy(TextStudy[S]):
    """A study of texts that can look at gradients, and so at a loss."""

    @classmethod
    def run(
        cls,
        source: TextSource,
        model: CapturedModel,
        settings: S | None = None,
        *,
        objective: Objective | None = None,
        folder: RunFolder | None = None,
        command: str | None = None,
        progress: bool = True,
    ) -> xarray.Dataset:
        """Run the study; see `TextStudy.run`.

        Args:
            source: see `headlight.analysis.text_plan.TextSource`.
            model: the model.
            settings: of the study; by default those of its class.
            objective: whose gradient, if it is among the measures; by default that of what the
                model was trained for.
            folder: see `RunFolder`; without one nothing is kept.
            command: how it was asked for, for the record.
            progress: show a bar on standard error.

        Raises:
            MissingHeadError: the gradient needs a language-model head, or an objective of your own.
            HeadlightError: see `TextStudy.run`.
        """
        study = cls(source, model, settings or cls.settings_class(), objective)
        return study.result(folder=folder, command=command, progress=progress)
