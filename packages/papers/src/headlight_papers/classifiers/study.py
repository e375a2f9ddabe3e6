"""Base classes of studies of classifiers and of their observers."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import xarray
from jaxtyping import Float64, Int64

from headlight.capture import Objective
from headlight.encode.batch import Batch
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.folder import OpenFolder
from headlight.engine.labelled_texts import Classified, LabelledSource
from headlight.engine.observer import Observer
from headlight.engine.plan import StudyPlan
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.positions import Texts
from headlight.observations.text_ids import units_of
from headlight.observations.variables import described, with_slots
from headlight.reduce import Accumulator, Moments, Slots, Tally
from headlight.study_settings.classifiers import ClassifierSettings
from headlight_papers.classifiers.kept_files import KeptFiles, kept_files
from headlight_papers.classifiers.scores import MAJORITY, SCORES, class_shares
from headlight_papers.classifiers.settings import KeepSettings

S = TypeVar("S", bound=ClassifierSettings)


class ClassifierStudy(CorpusStudy[S]):
    """A study of a classifier; a subclass says what is observed, and what the result is.

    Args:
        source: Labelled texts; see `headlight.engine.labelled_texts.LabelledSource`.
        model: Classifier of texts or of tokens.
        settings: Settings of the study.

    Attributes:
        plan: Plan of the pass over the texts.
        classes: Classes of the model.
        kept: Files for the data behind the numbers; None if these are not kept.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be opened.
    """

    kept: KeptFiles | None = None

    def make_plan(self, source: LabelledSource, objective: Objective | None) -> StudyPlan[Any]:
        """Plan one pass over labelled texts."""
        plan, self.classes = plan_classifier_study(
            self.name, self.title, source, self.model, self.settings
        )
        return plan

    def prepare(self, folder: OpenFolder, *, progress: bool) -> None:
        """Prepare the files of what numbers are made of, if they are kept."""
        if isinstance(self.settings, KeepSettings):
            self.kept = kept_files(self.settings, folder, self.name, self.model)

    @abstractmethod
    def changes(self, tally: Tally) -> xarray.Dataset:
        """Return the result, made of what the observers of all batches saw, without scores."""

    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return the result, and beside it how good the model is, and how good a constant would be.

        An observer that counts no scores, of another package say, leaves them out.
        """
        result, tally = self.changes(state.tally), state.tally
        if tally.get("classes") is None:
            return result
        accuracy, classes = (tally[name].compute() for name in ("accuracy", "classes"))
        scores = with_slots("own_accuracy", (), accuracy["mean"], accuracy)
        scores[MAJORITY] = xarray.DataArray(classes["mean"].max())
        return result.merge(described(scores, {}, SCORES), compat="equals")


class ClassifierObserver(Observer, Generic[S]):
    """Base of observers of a classifier's batch, who run the model themselves."""

    wants_attention = False

    def __init__(
        self, study: ClassifierStudy[S], batch: Batch, examples: Sequence[Classified]
    ) -> None:
        self._model = study.model
        self._settings = study.settings
        self._kept = study.kept
        self._sites = study.plan.sites
        self._classes = len(study.classes.names)
        self._shares = class_shares([example.labels for example in examples], self._classes)
        self._batch = batch
        self._examples = examples
        self._texts = Texts.of(batch, examples, self._sites[0].kind)
        self._positions = LabelPositions(examples, study.model.transformer.device)

    @abstractmethod
    def tally(self) -> Tally:
        """Return the tally of the batch."""

    @property
    def _text_ids(self) -> Int64[np.ndarray, " text"]:
        return np.array(self._texts.text_ids, dtype=np.int64)

    def _scores(self, right: Float64[np.ndarray, " text"]) -> dict[str, Accumulator]:
        classes = Moments(self._shares.shape[1:])
        classes.update(self._shares)
        return {"accuracy": self._slots(right), "classes": classes}

    def _slots(self, rows: Float64[np.ndarray, "text *cell"]) -> Slots:
        return Slots.of(units_of(self._examples), rows)
