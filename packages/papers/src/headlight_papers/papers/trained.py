"""Models that papers train: how they are trained, the table of all, and points of a plane."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pandas
import torch
import xarray
from torch import Tensor

from headlight.result import describe
from headlight.views.parts import Curve, Reference
from headlight.vocabulary import PARTS, Part
from headlight_papers.papers.reproduction import Reproduction, begun_folder, signature_of
from headlight_papers.papers.settings import RESULTS
from headlight_papers.training import one_thread, run_stages
from headlight_papers.training.text_classifier import (
    Attention,
    AttentionModel,
    Outputs,
    outputs_of,
)
from headlight_papers.training.trainer import (
    AdversarialObjective,
    Batch,
    Numbers,
    Trainer,
    TrainingBatch,
    TrainingTask,
    seeded,
)

Kind = Literal["base", "adversary", "guided"]
KINDS: tuple[Kind, ...] = ("base", "adversary", "guided")
"""Models of one seed begin differently if they are of different kinds."""

# Not Self, which the checker of types at run time knows in classes that it decorates as a whole.
Job = TypeVar("Job", bound="TeacherJob")


class TeacherJob:
    """One model that is trained on labels, against a base, or on labels with attention given.

    A job is a dataclass with these fields, and with others that tell models apart.

    Attributes:
        kind: which of the three.
        seed: of the model, and of the base that it belongs to.
        weight: λ of an adversary, or of that which guides.
        guide: where the attention of a guided model comes from: the ``base``, the ``adversary`` of
            this weight, or no model.
    """

    kind: Kind
    seed: int
    weight: float | None
    guide: str | None

    @property
    def name(self) -> str:
        """Return the name of its file."""
        fields = vars(self).values()
        return "-".join(str(field) for field in fields if field is not None)

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Return the seed of weights, dropout and the order of batches; another for each kind."""
        return (self.seed, KINDS.index(self.kind))

    @property
    def base(self: Job) -> Job:
        """The model that it is compared with, and taught by if it is an adversary."""
        return self._alike(kind="base", weight=None, guide=None)

    @property
    def source(self: Job) -> Job | str:
        """The model whose attention a guided one is given, or the name of what comes from none."""
        if self.guide == "adversary":
            return self._alike(kind="adversary", guide=None)
        return self.base if self.guide in (None, "base") else str(self.guide)

    def _alike(self: Job, **changes: Any) -> Job:
        """Another job for the same data and seed."""
        job: Job = replace(self, **changes)  # type: ignore[type-var]
        return job


Model = TypeVar("Model", bound=AttentionModel[Any])


@dataclass(frozen=True)
class TrainingConfig:
    """Settings that all models have in common.

    Attributes:
        epochs: passes over the training part at most.
        objective: of adversaries.
        selection: the part on which the best epoch is chosen, see `TeacherTrainer.score`.
        patience: epochs without improvement after which training stops; None for never.
    """

    epochs: int
    objective: AdversarialObjective
    selection: Part = "dev"
    patience: int | None = None


@dataclass(frozen=True, eq=False)
class TeacherTrainer(Trainer[Job, Model, Batch], Generic[Job, Model, Batch]):
    """Trains models on the same data, in three parts, and keeps each in a file of its own.

    Attributes:
        data: what is learnt, with the batches of its ``parts``.
        config: how.
        folder: of the files.
    """

    data: Any
    config: TrainingConfig
    folder: Path
    metric = "f1"
    """By which the epoch of a model that is trained on labels is chosen."""

    def plain(self, batch: Batch, guide: str) -> Attention:
        """Attention that comes from no model, by its name."""
        raise NotImplementedError

    def quality(self, batches: Sequence[Batch], outputs: Sequence[Outputs]) -> Numbers:
        """Compute the quality of predictions."""
        raise NotImplementedError

    def difference(
        self, batches: Sequence[Batch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """Compute the distance of predictions and attention from a teacher's, see `compare`."""
        raise NotImplementedError

    def model(self, job: Job) -> Model:
        """A finished model."""
        with torch.random.fork_rng(devices=()):  # what it begins with is of no interest
            model = self.begin(job)
        model.load_state_dict(self.parameters(job))
        return model.eval()

    def outputs(self, job: Job, parts: Sequence[Part] = PARTS) -> dict[Part, list[Outputs]]:
        """Return the outputs of a finished model, with the attention that it was trained with."""
        imposed, model = self.given(job, parts), self.model(job)
        return {part: outputs_of(model, self.data.parts[part], imposed.get(part)) for part in parts}

    def given(self, job: Job, parts: Sequence[Part] = PARTS) -> dict[Part, list[Tensor]]:
        """The attention that a guided model gets; nothing for others."""
        if job.kind != "guided":
            return {}
        if isinstance(job.source, str):
            return {
                part: [self.plain(batch, job.source) for batch in self.data.parts[part]]
                for part in parts
            }
        outputs = self.outputs(job.source, parts)
        return {part: [each.attention for each in outputs[part]] for part in parts}

    def task(self, job: Job) -> TrainingTask:
        """Return the training task of a model."""
        weight = job.weight if job.kind == "adversary" else None
        return TrainingTask(job.seed_of_model, self.config.objective, weight)

    def run(self, job: Job) -> None:
        """Train a model, evaluate it, and write its file; what it is taught by must be there."""
        teacher = {} if job.kind == "base" else self.outputs(job.base)
        imposed, task = self.given(job), self.task(job)
        training = self.data.parts["train"]
        nothing: list[Any] = [None] * len(training)
        batches = [
            TrainingBatch(*each)
            for each in zip(
                training, teacher.get("train", nothing), imposed.get("train", nothing), strict=True
            )
        ]

        def shuffled(orders: np.random.Generator) -> list[TrainingBatch[Batch]]:
            return [batches[number] for number in orders.permutation(len(batches))]

        with seeded(task.seed):
            model = self.begin(job)
            measure = partial(self.evaluate, model, teacher=teacher, given=imposed)
            curve = self.choose_epoch(
                model,
                self.epochs(model, task, self.config.epochs, shuffled),
                partial(measure, self.config.selection),
                lambda numbers: self.score(numbers, task),
                self.config.patience,
            )
        measured: Numbers = {"curve": curve, "dev": measure("dev"), "test": measure("test")}
        self.save(job, model.state_dict(), measured)

    def score(self, numbers: Numbers, task: TrainingTask) -> float:
        """By which an epoch is chosen: `metric`, or what an adversary's loss is the negative of."""
        if task.weight is None:
            return float(np.mean(numbers[self.metric]))
        near = numbers["tvd" if task.objective.prediction == "tvd" else "taught_nll"]
        far = numbers[task.objective.distance]  # a number, or one of each head
        return float(task.weight * float(np.mean(far)) - float(np.mean(near)))

    def evaluate(
        self,
        model: Model,
        part: Part,
        teacher: dict[Part, list[Outputs]],
        given: dict[Part, list[Tensor]],
    ) -> Numbers:
        """All numbers of a model on one part."""
        batches = self.data.parts[part]
        outputs = outputs_of(model, batches, given.get(part))
        numbers = self.quality(batches, outputs)
        return numbers | self.difference(batches, outputs, teacher[part]) if teacher else numbers


TrainerOf = TypeVar("TrainerOf", bound=TeacherTrainer[Any, Any, Any])
Rows = Sequence[tuple[dict[str, Any], dict[str, Any]]]
"""Descriptions of models, and the numbers measured of each on each part."""


def lambdas_of(reproduction: Reproduction) -> list[float]:
    """In order, each once, and 0 among them."""
    return sorted({0.0, *reproduction.settings.lambdas})


def sweep_jobs(reproduction: Reproduction, job: Callable[..., Job]) -> list[list[Job]]:
    """Return the bases of all seeds and then, taught by them, the adversaries of every λ."""
    seeds = range(reproduction.settings.repeats)
    bases = [job(kind="base", seed=seed) for seed in seeds]
    weights = lambdas_of(reproduction)
    return [
        bases,
        [job(kind="adversary", seed=seed, weight=one) for seed in seeds for one in weights],
    ]


@dataclass(frozen=True)
class ModelFamily(Generic[TrainerOf]):
    """Models that a reproduction trains on one set of data.

    Attributes:
        reproduction: whose settings say how they are trained.
        trainer: the class of their trainer.
        folder: of the models, among the results.
        read: reads what is learnt.
        reads: what that depends on, as JSON.
        patience: see `TrainingConfig`.
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
        """Return what is measured of models when all are trained; it is kept, and so are they.

        Args:
            stages: jobs; those of a later stage may need those of earlier ones.
            measure: measures the models, in one thread.
            name: see `Reproduction.keep`, as of the stage.
            stage: of the result.
            key: what the result depends on besides the models, as JSON.
        """
        settings = self.reproduction.settings
        # A paper that trains no adversaries has no settings for them.
        chosen = [getattr(settings, each, None) for each in ("predictions", "distance")]
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
            with one_thread():
                return measure(trainer)

        jobs = [job.name for each in stages for job in each]
        return self.reproduction.keep(name, stage, make, jobs=jobs, **shared, **key)


COMPARED: tuple[Part, ...] = ("dev", "test")
"""The parts on which models are compared."""


def reference_rows(
    trainer: TeacherTrainer[Any, Any, Any], base: Any, others: Sequence[Any]
) -> Rows:
    """Beside a base those of other seeds, and itself with uniform attention put in.

    Args:
        trainer: of all of them, which have been trained.
        base: what others are compared with.
        others: bases of other seeds; in their rows they are of the kind ``seed``.
    """
    taught, data = trainer.outputs(base, COMPARED), trainer.data.parts
    uniform = {part: [trainer.plain(batch, "uniform") for batch in data[part]] for part in COMPARED}
    even = {part: outputs_of(trainer.model(base), data[part], uniform[part]) for part in COMPARED}
    seed_rows = [
        ({**vars(each), "kind": "seed"}, trainer.outputs(each, COMPARED)) for each in others
    ]
    return [
        (
            about,
            {
                part: trainer.quality(data[part], outputs[part])
                | trainer.difference(data[part], outputs[part], taught[part])
                for part in COMPARED
            },
        )
        for about, outputs in [*seed_rows, ({**vars(base), "kind": "uniform"}, even)]
    ]


def run_table(
    trainer: TeacherTrainer[Any, Any, Any],
    jobs: Sequence[Any],
    references: Rows,
    numbers: Mapping[str, tuple[str, str]],
) -> xarray.Dataset:
    """Return all models in one table, a run each.

    Args:
        trainer: of the models, which have been trained.
        jobs: the models.
        references: those beside them, see `reference_rows`.
        numbers: long name and unit of what was measured.

    Returns:
        Over ``run`` and ``part``, and ``head`` where there are several, the numbers, NaN where a
        model has none; over ``run`` the ``epochs`` of training, and over ``epoch`` the number that
        selects one. Coordinates say what each model is; of a missing λ NaN.
    """
    rows = [*((vars(job), trainer.measured(job)) for job in jobs), *references]
    values: dict[str, Any] = {}
    for name in numbers:
        cells = [[np.asarray(of[part].get(name, np.nan)) for part in COMPARED] for _, of in rows]
        shape = np.broadcast_shapes(*(cell.shape for row in cells for cell in row))
        table = [[np.broadcast_to(cell, shape) for cell in row] for row in cells]
        values[name] = (("run", "part", "head")[: 2 + len(shape)], np.array(table, dtype=float))
    curves = [of.get("curve", {}).get(trainer.metric, []) for _, of in rows]
    selected = np.full((len(rows), max(map(len, curves))), np.nan)
    for row, curve in zip(selected, curves, strict=True):
        row[: len(curve)] = curve
    values |= {
        "epochs": ("run", [float(len(curve)) or np.nan for curve in curves]),
        f"{trainer.metric}_by_epoch": (("run", "epoch"), selected),
    }
    about: dict[str, Any] = {"part": list(COMPARED)}
    for name in rows[0][0]:
        missing = np.nan if name == "weight" else ""
        about[name] = ("run", [missing if each[name] is None else each[name] for each, _ in rows])
    names = {
        **numbers,
        "epochs": ("passes over the training part", "1"),
        f"{trainer.metric}_by_epoch": (f"{trainer.metric} on the part that selects", "1"),
    }
    return describe(xarray.Dataset(values, coords=about), names)


LINE = "line"
"""The kind of the rows that a line goes through."""
PLANE: dict[str, Any] = {
    "x_label": "TVD to the base's predictions",
    "y_label": "JSD to the base's attention",
    "references": [Reference(float(np.log(2)), "ln 2")],
}
"""Labels and reference of the plane of Wiegreffe and Pinter (2019), Figure 5."""


def with_line(
    rows: pandas.DataFrame, middle: str, by: Sequence[str] = (), of: Sequence[str] = ("tvd", "jsd")
) -> xarray.Dataset:
    """Models, and of the adversaries of each λ a middle, in the order of λ.

    Args:
        rows: a model each, with its ``kind`` and ``weight``.
        middle: ``median`` or ``mean``.
        by: columns that tell tasks apart.
        of: columns of what is drawn.
    """
    groups = rows[rows.kind == "adversary"].groupby([*by, "weight"])[list(of)]
    line = groups.agg(middle).reset_index().assign(kind=LINE)
    return pandas.concat([rows, line], ignore_index=True).to_xarray()


def points(
    kinds: Mapping[str, str],
    panel: str = "",
    of: Mapping[str, Hashable] | None = None,
    *,
    x: str = "tvd",
    y: str = "jsd",
    **axes: Any,
) -> Iterator[Curve]:
    """A point for each model, and the line; it has markers where adversaries are not shown.

    Args:
        kinds: what each is called, in the order of the legend.
        panel: its title.
        of: what tells its models from those of other panels.
        x: the column of the horizontal axis.
        y: that of the vertical one.
        axes: their names and lines; see `Curve`.
    """
    for kind, name in kinds.items():
        marked, chosen = kind != LINE or "adversary" not in kinds, {**(of or {}), "kind": kind}
        yield Curve(y, name, panel, over=x, of=chosen, marked=marked, joined=kind == LINE, **axes)
