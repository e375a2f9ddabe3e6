"""Studies of classifiers: one pass over labelled texts, batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import xarray
from jaxtyping import Float64, Int64

from headlight.analysis import ClassifierSettings, KeepSettings
from headlight.analysis.batch_runner import Observer, Texts, units_of
from headlight.analysis.classifier_plan import (
    Classified,
    LabelledSource,
    LabelPositions,
    plan_classifier_study,
)
from headlight.analysis.classifier_predictions import class_shares
from headlight.analysis.folder import KEPT, RunFolder, claim_work_folder
from headlight.analysis.runner import run_study
from headlight.analysis.variables import Variable, described, long_names, with_slots
from headlight.analysis.word_study import CorpusStudy
from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError, setting
from headlight.reduce import Accumulator, Moments, Slots, Tally
from headlight.result import save


@dataclass(eq=False, repr=False)
class KeptFiles:
    """The folder ``kept`` of a run: NetCDF files, which `headlight.open` reads.

    A text has a file of its own, which depends on nothing but model, settings and the text, so that
    processes that share a run write the same.
    """

    run: Path
    study: str
    model: CapturedModel

    @property
    def folder(self) -> Path:
        """The folder, existing.

        Raises:
            RunError: it is a link, holds files though no run made it, or cannot be made.
        """
        return claim_work_folder(self.run / KEPT)

    def save(self, name: str, dataset: xarray.Dataset) -> None:
        """Write a file.

        Raises:
            ResultError: it cannot be written.
        """
        about = {"stage": f"{self.study}-kept", "model": self.model.name}
        revision = {"revision": self.model.revision} if self.model.revision else {}
        save(dataset.assign_attrs(about | revision), self.folder / f"{name}.nc")

    def save_text(self, example: Encoded, text_id: int, seed: int, dataset: xarray.Dataset) -> None:
        """Write the file of a text; its tokens and the number of its random draws are added."""
        about = {"name": example.name, "text_id": str(text_id), "seed": seed}
        ids = dataset.assign(input_ids=("token", list(example.ids)))
        self.save(f"{text_id:016x}", ids.assign_attrs(about))


def kept_files(
    settings: KeepSettings, folder: RunFolder | None, study: str, model: CapturedModel
) -> KeptFiles | None:
    """Return the files of a run's per-text values; None if they are not requested.

    Raises:
        UsageError: the run has no folder on this machine.
    """
    if not settings.keep:
        return None
    place = folder.place if folder else None
    if not isinstance(place, Path):
        raise UsageError(
            "what numbers are made of is kept in a folder of this machine; name one with "
            f"{setting('out=')}."
        )
    return KeptFiles(place, study, model)


S = TypeVar("S", bound=ClassifierSettings)

MAJORITY = "majority_accuracy"
"""The share of correct predictions of who always says the most frequent class."""

SCORES = long_names(
    {
        "own_accuracy": Variable("share of correct predictions", interval="share"),
        MAJORITY: Variable("share of correct predictions if all were of the most frequent class"),
    }
)


class ClassifierStudy(CorpusStudy[S]):
    """A study of a classifier; a subclass says what is observed, and what the result is.

    Args:
        source: see `headlight.analysis.classifier_plan.LabelledSource`.
        model: a classifier of texts or of tokens.
        settings: of the study.

    Attributes:
        plan: what is run.
        classes: what the model tells apart.
        kept: where what numbers are made of is kept, if it is.

    Raises:
        MissingHeadError: the model is no classifier.
        UsageError: something does not fit together: classes, kinds, layers, lengths, columns.
        CorpusError: the corpus cannot be opened.
    """

    kept: KeptFiles | None = None

    def __init__(self, source: LabelledSource, model: CapturedModel, settings: S) -> None:
        self.model = model
        self.settings = settings
        self.plan, self.classes = plan_classifier_study(
            self.name, self.title, source, model, settings
        )
        self.check()

    def check(self) -> None:
        """Refuse what the study cannot be asked for, before anything runs.

        Raises:
            UsageError: it is so.
        """

    @abstractmethod
    def observe(self, batch: Batch, examples: Sequence[Classified]) -> Observer:
        """The observer of one batch."""

    @abstractmethod
    def dataset(self, tally: Tally) -> xarray.Dataset:
        """The result, made of what the observers of all batches saw."""

    def with_scores(self, tally: Tally) -> xarray.Dataset:
        """The result, and beside it how good the model is, and how good a constant would be.

        An observer that counts no scores, of another package say, leaves them out.
        """
        if tally.get("classes") is None:
            return self.dataset(tally)
        accuracy, classes = (tally[name].compute() for name in ("accuracy", "classes"))
        scores = with_slots("own_accuracy", (), accuracy["mean"], accuracy)
        scores[MAJORITY] = xarray.DataArray(classes["mean"].max())
        return self.dataset(tally).merge(described(scores, {}, SCORES), compat="equals")

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the plan, or go on with it; see `run`."""
        if isinstance(self.settings, KeepSettings):
            self.kept = kept_files(self.settings, folder, self.name, self.model)
        return run_study(
            self.plan,
            lambda _, batch, examples: self.observe(batch, examples),
            lambda _, state: self.with_scores(state.tally),
            folder=folder,
            command=command,
            progress=progress,
        )


class ClassifierObserver(ABC, Generic[S]):
    """Base of observers of a classifier's batch."""

    def __init__(
        self, study: ClassifierStudy[S], batch: Batch, examples: Sequence[Classified]
    ) -> None:
        self._model = study.model
        self._settings = study.settings
        self._kept = study.kept
        self._sites = study.plan.sites
        self._classes = len(study.classes.names)
        self._shares = class_shares([each.labels for each in examples], self._classes)
        self._batch = batch
        self._examples = examples
        self._texts = Texts.of(batch, examples, self._sites[0].kind)
        self._positions = LabelPositions(examples, study.model.transformer.device)

    @abstractmethod
    def tally(self) -> Tally:
        """Return the tally of the batch."""

    @property
    def _text_ids(self) -> Int64[np.ndarray, " text"]:
        """A number of its own for every text."""
        return np.array(self._texts.text_ids, dtype=np.int64)

    def _scores(self, right: Float64[np.ndarray, " text"]) -> dict[str, Accumulator]:
        """Return the accuracy by text, and the shares of classes, which every tally has."""
        classes = Moments(self._shares.shape[1:])
        classes.update(self._shares)
        return {"accuracy": self._slots(right), "classes": classes}

    def _slots(self, rows: Float64[np.ndarray, "text *cell"]) -> Slots:
        """Return means over texts, and what blocks of the corpus add to them."""
        return Slots.of(units_of(self._examples), rows)
