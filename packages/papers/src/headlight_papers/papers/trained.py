"""Models that papers train: how they are trained, the table of all, and points of a plane."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pandas
import xarray

from headlight.result import describe
from headlight.views.parts import Curve, Reference
from headlight.vocabulary import Part
from headlight_papers.papers.reproduction import Reproduction, begun_folder, signature_of
from headlight_papers.papers.settings import RESULTS
from headlight_papers.training import one_thread, run_stages
from headlight_papers.training.teacher import TeacherTrainer, TrainingConfig
from headlight_papers.training.text_classifier import outputs_of
from headlight_papers.training.trainer import AdversarialObjective

Job = TypeVar("Job")
Trainer = TypeVar("Trainer", bound=TeacherTrainer[Any, Any, Any])
Rows = Sequence[tuple[dict[str, Any], dict[str, Any]]]
"""What a model is, and what was measured of it, on each part."""


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
class ModelFamily(Generic[Trainer]):
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
    trainer: type[Trainer]
    folder: str
    read: Callable[[Reproduction], Any]
    reads: dict[str, Any]
    patience: int | None = None

    def measure(
        self,
        stages: Sequence[Sequence[Any]],
        measure: Callable[[Trainer], xarray.Dataset],
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
"""Of the plane of Wiegreffe and Pinter (2019), Figure 5."""


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
