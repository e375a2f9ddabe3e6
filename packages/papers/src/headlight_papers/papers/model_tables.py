"""Tables of trained models, each compared with its reference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from headlight.result import describe
from headlight.vocabulary import Part
from headlight_papers.papers.teacher_training import TeacherTrainer
from headlight_papers.training.model_outputs import outputs_of

Rows = Sequence[tuple[dict[str, Any], dict[str, Any]]]
"""Descriptions of models, and the numbers measured of each on each part."""

COMPARED: tuple[Part, ...] = ("dev", "test")
"""Parts on which models are compared."""


def reference_rows(
    trainer: TeacherTrainer[Any, Any, Any], base: Any, others: Sequence[Any]
) -> Rows:
    """Return rows of bases of other seeds, and of the base with uniform attention imposed.

    Args:
        trainer: Trainer of all these models, which have been trained.
        base: Reference of the comparisons.
        others: Bases of other seeds; their rows have the kind ``seed``.
    """
    taught, data = trainer.outputs(base, COMPARED), trainer.data.parts
    uniform = {part: [trainer.plain(batch, "uniform") for batch in data[part]] for part in COMPARED}
    even = {part: outputs_of(trainer.model(base), data[part], uniform[part]) for part in COMPARED}
    seed_rows = [({**vars(job), "kind": "seed"}, trainer.outputs(job, COMPARED)) for job in others]
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
        trainer: Trainer of the models, which have been trained.
        jobs: Jobs of the models.
        references: Rows of references, see `reference_rows`.
        numbers: Long name and unit of each measured number.

    Returns:
        Over ``run`` and ``part``, and ``head`` where there are several, the numbers, NaN where a
        model has none; over ``run`` the ``epochs`` of training, and over ``epoch`` the number that
        selects one. Coordinates say what each model is; of a missing λ NaN.
    """
    rows = [*((vars(job), trainer.measured(job)) for job in jobs), *references]
    values: dict[str, Any] = {}
    for name in numbers:
        cells = [
            [np.asarray(numbers_of_run[part].get(name, np.nan)) for part in COMPARED]
            for _, numbers_of_run in rows
        ]
        # Numbers of single heads have an axis more than those of a model.
        shape = np.broadcast_shapes(*(cell.shape for row in cells for cell in row))
        table = [[np.broadcast_to(cell, shape) for cell in row] for row in cells]
        values[name] = (("run", "part", "head")[: 2 + len(shape)], np.array(table, dtype=float))
    curves = [numbers_of_run.get("curve", {}).get(trainer.metric, []) for _, numbers_of_run in rows]
    selected = np.full((len(rows), max(map(len, curves))), np.nan)
    for row, curve in zip(selected, curves, strict=True):
        row[: len(curve)] = curve
    values |= {
        # References bring no curve, and have no epochs here.
        "epochs": ("run", [float(len(curve)) or np.nan for curve in curves]),
        f"{trainer.metric}_by_epoch": (("run", "epoch"), selected),
    }
    about: dict[str, Any] = {"part": list(COMPARED)}
    for name in rows[0][0]:
        missing = np.nan if name == "weight" else ""
        about[name] = (
            "run",
            [
                missing if description[name] is None else description[name]
                for description, _ in rows
            ],
        )
    names = {
        **numbers,
        "epochs": ("passes over the training part", "1"),
        f"{trainer.metric}_by_epoch": (f"{trainer.metric} on the part that selects", "1"),
    }
    return describe(xarray.Dataset(values, coords=about), names)
