"""Studies of texts, each kind of attention by itself."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import xarray

from headlight.analysis.attention_kinds import Observe, ToDataset, run_kinds
from headlight.analysis.corpus_study import CorpusStudy, GradientStudy
from headlight.analysis.observers import Observer
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.analysis.text_plan import plan_text_study
from headlight.analysis.text_sources import TextSource
from headlight.capture import CapturedModel, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Tally
from headlight.study_settings.texts import TextSettings

S = TypeVar("S", bound=TextSettings)


class TextStudy(CorpusStudy[S]):
    """A study of texts; a subclass says what is observed, and what the result is.

    Where several kinds of attention are looked at, each has observers and a dataset of its own,
    made by the plan of that kind.

    Args:
        source: see `headlight.analysis.text_sources.TextSource`.
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
