"""Studies of a corpus: what all have in common, with gradients or not, in one pass or several."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import xarray

from headlight.analysis.observers import Observer
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.analysis.runner import run_study
from headlight.capture import CapturedModel, Objective
from headlight.encode.batch import Batch
from headlight.run import State
from headlight.settings import Settings

S = TypeVar("S", bound=Settings)


class CorpusStudy(ABC, Generic[S]):
    """A study of a corpus; what it looks at, and what comes of it, a subclass says.

    Attributes:
        name: of the study.
        title: what the result is about.
        settings_class: of its settings.
    """

    name: str
    title: str
    settings_class: type[S]

    @abstractmethod
    def __init__(self, source: Any, model: CapturedModel, settings: S) -> None:
        """Plan what is run, and refuse what does not fit together before anything runs."""

    @abstractmethod
    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the plan, or go on with it; see `run`."""

    @classmethod
    def run(
        cls,
        source: Any,
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
            source: see the class.
            model: the model.
            settings: of the study; by default those of its class.
            folder: see `RunFolder`; without one nothing is kept.
            command: how it was asked for, for the record.
            progress: show a bar on standard error.

        Returns:
            What the class says; layers and heads are zero-based.

        Raises:
            MissingHeadError: the model has no head, or another one than is needed.
            UsageError: something does not fit together: classes, measures, kinds, layers, lengths,
                folder, columns.
            CorpusError: the corpus cannot be read, or holds nothing that can be looked at.
            UnsupportedModelError: the attention of the model cannot be captured exactly.
            CaptureError: what is computed is not finite.
            RunError: the run in the folder is of another model, corpus or setting.
        """
        study = cls(source, model, settings or cls.settings_class())
        return study.result(folder=folder, command=command, progress=progress)


class GradientStudy(CorpusStudy[S]):
    """A study that can look at gradients, and so at a loss."""

    @abstractmethod
    def __init__(
        self, source: Any, model: CapturedModel, settings: S, objective: Objective | None = None
    ) -> None:
        """See `CorpusStudy`."""

    @classmethod
    def run(
        cls,
        source: Any,
        model: CapturedModel,
        settings: S | None = None,
        *,
        objective: Objective | None = None,
        folder: RunFolder | None = None,
        command: str | None = None,
        progress: bool = True,
    ) -> xarray.Dataset:
        """Run the study; see `CorpusStudy.run`.

        Args:
            source: see the class.
            model: the model.
            settings: of the study; by default those of its class.
            objective: whose gradient or predictions are looked at, where they are; by default that
                of what the model was trained for.
            folder: see `RunFolder`; without one nothing is kept.
            command: how it was asked for, for the record.
            progress: show a bar on standard error.
        """
        study = cls(source, model, settings or cls.settings_class(), objective)
        return study.result(folder=folder, command=command, progress=progress)


class PassStudy(CorpusStudy[S]):
    """A study whose passes over the corpus may look at different things.

    Attributes:
        plan: what is run.
    """

    plan: StudyPlan[Any]

    @abstractmethod
    def observe(self, one: Pass, batch: Batch, examples: Sequence[Any]) -> Observer:
        """The observer of one batch of a pass."""

    @abstractmethod
    def dataset(self, one: Pass, state: State) -> xarray.Dataset:
        """The result of a pass, made of what the observers of all batches saw."""

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the passes, or go on with them; see `run`."""
        return run_study(
            self.plan, self.observe, self.dataset, folder=folder, command=command, progress=progress
        )
