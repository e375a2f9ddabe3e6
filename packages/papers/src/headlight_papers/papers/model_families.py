"""Families of models that are trained alike, and their measurements."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import xarray

from headlight_papers.papers.reproduction import Reproduction, begun_folder, signature_of
from headlight_papers.papers.settings import RESULTS
from headlight_papers.papers.teacher_training import TeacherTrainer, TrainingConfig
from headlight_papers.training import one_thread
from headlight_papers.training.losses import AdversarialObjective
from headlight_words.training.jobs import run_stages

TrainerOf = TypeVar("TrainerOf", bound=TeacherTrainer[Any, Any, Any])


@dataclass(frozen=True)
class ModelFamily(Generic[TrainerOf]):
    """Family of models that a reproduction trains on one set of data.

    Attributes:
        reproduction: Reproduction whose settings determine the training.
        trainer: Class of their trainer.
        folder: Folder of the models, among the results.
        read: Function that reads the training data.
        reads: Inputs that the data depend on, as JSON.
        patience: See `TrainingConfig`.
    """

    reproduction: Reproduction
    trainer: type[TrainerOf]
    folder: str
    read: Callable[[Reproduction], Any]
    reads: dict[str, Any]
    patience: int | None = None

    def measure(
        self,
        stages: Sequence[Sequence[Any]],
        measure: Callable[[TrainerOf], xarray.Dataset],
        *,
        name: str,
        stage: str,
        **key: Any,
    ) -> xarray.Dataset:
        """Train all models, and return a measurement of them; it is kept, and so are they.

        Args:
            stages: Jobs by stage; those of a later stage may need those of earlier ones.
            measure: Function that measures the models, in one thread.
            name: See `Reproduction.keep`, also for the stage.
            stage: Stage of the result.
            key: Inputs that the result depends on besides the models, as JSON.
        """
        settings = self.reproduction.settings
        # A paper that trains no adversaries has no settings for them.
        chosen = [
            getattr(settings, name_of_choice, None)
            for name_of_choice in ("predictions", "distance")
        ]
        objective = AdversarialObjective(*filter(None, chosen))
        shared = self.reads | {
            "epochs": settings.epochs,
            "goal": astuple(objective),
            "selection": settings.selection,
            "seed": settings.seed,
        }

        def make(_: Path) -> xarray.Dataset:
            folder = self.reproduction.folder / RESULTS / self.folder
            trainer = self.trainer(
                self.read(self.reproduction),
                TrainingConfig(settings.epochs, objective, settings.selection, self.patience),
                begun_folder(folder, signature_of(None, shared)),
            )
            run_stages(trainer, stages, settings.processes, show=self.reproduction.progress)
            # One thread, so that sums have one order however many models were trained at once.
            with one_thread():
                return measure(trainer)

        jobs = [job.name for jobs_of_stage in stages for job in jobs_of_stage]
        return self.reproduction.keep(name, stage, make, jobs=jobs, **shared, **key)
