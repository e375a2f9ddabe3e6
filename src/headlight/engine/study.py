"""Study of a corpus: what is planned, what its observers see, and the dataset made of that."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import xarray

from headlight.capture import CapturedModel, Objective
from headlight.encode.batch import Batch
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.observer import Observer
from headlight.engine.plan import StudyPlan
from headlight.engine.run import run_plan
from headlight.engine.state import State
from headlight.engine.text_plan import plan_text_study
from headlight.settings import Settings

S = TypeVar("S", bound=Settings)


class CorpusStudy(ABC, Generic[S]):
    """Study of a corpus; a subclass defines what is observed, and what the result is.

    The corpus is one of texts, which the model reads in one pass, unless a subclass plans
    otherwise.  Where several kinds of attention are observed, each has observers and a dataset of
    its own.

    Args:
        source: Corpus; see `headlight.engine.text_sources.TextSource`, or the subclass.
        model: Model that reads the corpus.
        settings: Settings of the study.
        objective: Objective whose gradient or predictions are observed, in studies that take one.

    Attributes:
        name: Name of the study.
        title: Title of the result.
        settings_class: Class of its settings.
        plan: Plan of the run.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, objective.
        CorpusError: the corpus cannot be opened.
    """

    name: str
    title: str
    settings_class: type[S]

    def __init__(
        self, source: Any, model: CapturedModel, settings: S, objective: Objective | None = None
    ) -> None:
        self.model = model
        self.settings = settings
        self.plan: StudyPlan[Any] = self.make_plan(source, objective)

    def make_plan(self, source: Any, objective: Objective | None) -> StudyPlan[Any]:
        """Plan what is run, and refuse what does not fit together before anything runs."""
        settings: Any = self.settings
        return plan_text_study(self.name, self.title, source, self.model, settings)

    def prepare(self, folder: OpenFolder, *, progress: bool) -> None:
        """Prepare what depends on the folder of the run, or is to be shown before it."""

    @abstractmethod
    def observe(self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[Any]) -> Observer:
        """Return the observer of one batch.

        Args:
            plan: Plan of one kind of attention and one pass.
            batch: Batch; in a pass with an objective a `headlight.capture.Prepared` batch.
            examples: Examples in the batch.
        """

    @abstractmethod
    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return the result of the tallies of all batches.

        Args:
            plan: Plan of one kind of attention and one pass.
            state: State at the end of the pass; its `tally` holds what was observed.
        """

    @classmethod
    def run(
        cls,
        source: Any,
        model: CapturedModel,
        settings: S | None = None,
        *,
        folder: OpenFolder = NOWHERE,
        command: str | None = None,
        progress: bool = True,
    ) -> xarray.Dataset:
        """Run the study.

        Memory does not grow with the corpus.  With a folder, the state is kept after every shard,
        so that an interrupted run can be resumed, and ends in ``result.nc``.

        Args:
            source: Corpus, see the class.
            model: Model that reads the corpus.
            settings: Settings of the study; by default those of its class.
            folder: Open folder of the run, see `headlight.engine.folder.RunFolder.opened`.
            command: Command that requested the run, for the record.
            progress: Whether a bar is shown on standard error.

        Returns:
            Dataset that the class describes; layers and heads are zero-based.

        Raises:
            MissingHeadError: the model has no head, or not the head that is needed.
            UsageError: something does not fit together: classes, measures, kinds, layers, lengths,
                folder, columns.
            CorpusError: the corpus cannot be read, or holds nothing that can be observed.
            UnsupportedModelError: the attention of the model cannot be captured exactly.
            CaptureError: what is computed is not finite.
            RunError: the run in the folder is of another model, corpus or setting.
        """
        return cls.run_with_objective(
            source, model, settings, folder=folder, command=command, progress=progress
        )

    @classmethod
    def run_with_objective(
        cls,
        source: Any,
        model: CapturedModel,
        settings: S | None = None,
        *,
        objective: Objective | None = None,
        folder: OpenFolder = NOWHERE,
        command: str | None = None,
        progress: bool = True,
    ) -> xarray.Dataset:
        """Run a study that can observe gradients or predictions, and so a loss; see `run`.

        Args:
            source: Corpus, see the class.
            model: Model that reads the corpus.
            settings: Settings of the study; by default those of its class.
            objective: Objective whose gradient or predictions are looked at, where they are; by
                default that of what the model was trained for.
            folder: Open folder of the run, see `headlight.engine.folder.RunFolder.opened`.
            command: Command that requested the run, for the record.
            progress: Whether a bar is shown on standard error.
        """
        study = cls(source, model, settings or cls.settings_class(), objective)
        study.prepare(folder, progress=progress)
        return run_plan(
            study.plan,
            study.observe,
            study.dataset,
            folder=folder,
            command=command,
            progress=progress,
        )
