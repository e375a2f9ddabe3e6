"""Study of models with the predictions of a classifier and other attention, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64

from headlight.capture import CapturedModel, Classes
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.kept_results import Origin, keep_result
from headlight.engine.labelled_texts import Classified, LabelledSource
from headlight.engine.plan import StudyPlan
from headlight.engine.work_folders import work_place
from headlight.errors import UsageError, setting
from headlight.files import Location
from headlight.observations.variables import (
    LongNames,
    Variable,
    described,
    long_names,
    slots_at,
    with_slots,
)
from headlight.reduce import Slots
from headlight_papers.classifiers.held_out_texts import digest_of, split_texts
from headlight_papers.classifiers.scores import (
    MAJORITY,
    SCORES,
    derived_slots,
    macro_f1,
    majority_accuracy,
    span_f1,
)
from headlight_papers.studies.adversary import AdversarySettings
from headlight_papers.studies.adversary.model_outputs import AttentionSelection
from headlight_papers.studies.adversary.students import Job, StudentTrainer
from headlight_papers.studies.adversary.teacher_comparison import MEANS, Tables, evaluate
from headlight_words.training.jobs import choose_processes, run_stages
from headlight_words.training.model_store import begin_folder

OF_HEADS = {
    "head_kl": Variable(
        "KL(attention ‖ the base's) of a row of one head", "nats", interval="positive"
    ),
    "head_jsd": Variable(
        "JSD of attention and the base's, of a row of one head", "nats", interval="positive"
    ),
}
OF_MODELS = {
    "accuracy": Variable("share of correct predictions", interval="share"),
    "f1": Variable("F1: the mean over classes, or of spans (strict IOB2)", interval="share"),
    "nll": Variable("negative log-likelihood of the gold labels", "nats", interval="positive"),
    "taught_nll": Variable(
        "negative log-likelihood of the base's labels", "nats", interval="positive"
    ),
    "agreement": Variable("share of predictions that are the base's", interval="share"),
    "tvd": Variable("total variation between predictions and the base's", interval="share"),
    "kl": Variable(
        "KL(attention ‖ the base's) of a row, mean over heads", "nats", interval="positive"
    ),
    "jsd": Variable(
        "JSD of attention and the base's, of a row, mean over heads", "nats", interval="positive"
    ),
}

VARIABLES: LongNames = {
    **long_names(OF_MODELS | OF_HEADS),
    MAJORITY: SCORES[MAJORITY],
    "loss": ("mean loss of an epoch of training", "nats"),
}
"""Long name and unit of every variable."""


@dataclass(frozen=True, eq=False)
class Run:
    """Row of the result.

    Attributes:
        kind: Kind of model: ``base``, ``adversary``, ``seed`` or ``uniform``.
        seed: Seed of a student.
        weight: Weight λ of an adversary.
        tables: Measurements of each text.
        losses: Loss of each epoch.
    """

    kind: str
    seed: int | None
    weight: float | None
    tables: Tables
    losses: Sequence[float] = field(default=())


def dataset(
    runs: Sequence[Run],
    classes: Classes,
    selection: AttentionSelection,
    labels: Sequence[Sequence[int]],
) -> xarray.Dataset:
    """Return the results of all runs as named arrays."""
    settings = selection.settings
    numbers = [_numbers(run.tables, classes) for run in runs]
    variables: dict[str, Any] = {}
    for name in numbers[0]:
        dims, slots = ["run"], {"units": numbers[0][name]["units"]}
        for part, axis in (("mean", 0), ("without", 1), ("whole", 1)):
            cells = np.stack([numbers_of_run[name][part] for numbers_of_run in numbers], axis)
            slots[part] = _arrange_by_head(cells, selection) if name in OF_HEADS else cells
        dims += ["layer", "head"] if name in OF_HEADS else []
        variables |= with_slots(name, dims, slots["mean"], slots)
    losses = np.full((len(runs), settings.epochs), np.nan)
    for row, run in zip(losses, runs, strict=True):
        row[: len(run.losses)] = run.losses
    variables[MAJORITY] = ((), majority_accuracy(labels, len(classes.names)))
    variables["loss"] = (("run", "epoch"), losses)
    coordinates = {
        "kind": ("run", [run.kind for run in runs]),
        "weight": ("run", [np.nan if run.weight is None else run.weight for run in runs]),
        "seed": ("run", [-1 if run.seed is None else run.seed for run in runs]),
        "layer": selection.layers,
        "head": sorted({head for _, head in selection.places}),
        "epoch": list(range(1, settings.epochs + 1)),
    }
    result = described(variables, coordinates, VARIABLES)
    return result.assign_attrs(task=classes.task)


def _numbers(tables: Tables, classes: Classes) -> dict[str, dict[str, np.ndarray]]:
    """Return each number over all texts, and without each block of them."""
    # Held-out texts are numbered one after the other, whichever were drawn.
    _, units = np.unique(tables["units"].numpy(), return_inverse=True)
    means, kl, jsd, counts = (
        Slots.of(units, tables[name].numpy()).compute() for name in ("means", "kl", "jsd", "counts")
    )
    return {
        **{name: slots_at(means, at) for at, name in enumerate(MEANS)},
        "f1": derived_slots(counts, macro_f1 if classes.task == "sequence" else span_f1),
        "kl": derived_slots(kl, lambda rows: rows.mean(-1)),
        "jsd": derived_slots(jsd, lambda rows: rows.mean(-1)),
        "head_kl": kl,
        "head_jsd": jsd,
    }


def _arrange_by_head(
    cells: Float64[np.ndarray, "*run place"], selection: AttentionSelection
) -> Float64[np.ndarray, "*run layer head"]:
    """Return cells of places as a table; NaN where a layer has no such head."""
    heads = sorted({head for _, head in selection.places})
    table = np.full((*cells.shape[:-1], len(selection.layers), len(heads)), np.nan)
    for at, (layer, head) in enumerate(selection.places):
        table[..., selection.layers.index(layer), heads.index(head)] = cells[..., at]
    return table


RUNS, MODELS = "runs", "models"
"""Folders of the measurements of each student, and of the students."""


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: AdversarySettings | None = None,
    *,
    folder: OpenFolder = NOWHERE,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Train models that predict as a classifier does, and attend otherwise.

    The loss is D(predictions) − λ D(attention); see `headlight_papers.training.trainer`.  The
    classifier is never changed, and its attention is recomputed for every batch.  Attention is
    that before dropout.  The last epoch counts.  Beside the adversaries stand the classifier
    itself, models that are trained on the gold labels with other seeds, and the classifier with
    uniform attention, for which it was not trained.

    What it takes and refuses is said by
    `headlight.engine.study.CorpusStudy.run`; the source is a
    `headlight.engine.labelled_texts.LabelledSource`, and the model a classifier of texts or of
    tokens.  What is finished of a run on this machine is used again.

    Returns:
        Over ``run``, each with its ``kind`` (``base``, ``adversary``, ``seed``, ``uniform``),
        ``weight`` λ and ``seed``, on the held-out texts: ``accuracy``, ``f1``, ``nll``,
        ``taught_nll``, ``agreement``, ``tvd``, ``kl`` and ``jsd`` with their intervals, and the
        last two by layer and head; ``loss`` by epoch.

    Raises:
        ModelError: no student can begin with what ``start`` names.
        CorpusError: the corpus holds too few texts or one class, or a label is none of the classes.
        CaptureError: training diverged.

    Source: Wiegreffe and Pinter (2019), Section 4 and Figure 5; Yang (2020), Section 4.2.
    """
    settings = settings or AdversarySettings()
    start = settings.start_for(model.name)
    settings = settings.replace(start=start)
    if settings.keep_models and not isinstance(folder.place, Path):
        raise UsageError(
            f"models are kept in a folder of this machine; name one with {setting('out=')}."
        )
    choose_processes(settings.processes, model)
    title = "Other attention with the same predictions"
    plan, classes = plan_classifier_study("adversary", title, source, model, settings)
    _check_tags(model, classes)
    training, held_out, read = split_texts(plan, classes, settings, settings.held_out)
    digest = digest_of(training, held_out)
    selection = AttentionSelection.from_settings(plan.sites, settings)

    def compute(place: Location | None) -> xarray.Dataset:
        model.verify_on(training)
        names = (RUNS, MODELS) if settings.keep_models else (RUNS,)
        with work_place(place, names, others=[MODELS], overwrite=folder.overwrite) as work_folder:
            trainer = StudentTrainer(
                model,
                start,
                classes,
                selection,
                training,
                held_out,
                begin_folder(work_folder / RUNS, _about(plan, digest)),
                work_folder / MODELS if settings.keep_models else None,
            )
            with torch.random.fork_rng(devices=[]):
                trainer.begin(Job("seed", 0))  # refuses what does not fit before the work
            runs = _runs(trainer, settings, progress)
            labels = [text.labels for text in held_out]
            result = dataset(runs, classes, selection, labels)
        return result.assign_attrs(corpus_digest=digest, **read)

    origin = Origin.from_plan(plan)
    return keep_result(origin, compute, folder=folder, command=command, digest=lambda: digest)


def _runs(trainer: StudentTrainer, settings: AdversarySettings, progress: bool) -> list[Run]:
    """Return the runs of all rows, in the order of the result."""
    seeds = range(settings.repeats)
    jobs = [Job("adversary", seed, weight) for weight in settings.weights for seed in seeds]
    jobs += [Job("seed", seed) for seed in seeds]
    processes = choose_processes(settings.processes, trainer.teacher)
    run_stages(trainer, [jobs], processes, show=progress)
    itself, even = (
        evaluate(student, trainer.teacher, trainer.held_out, trainer.selection, trainer.classes)
        for student in (trainer.teacher, None)
    )
    return [
        Run("base", None, None, itself),
        *(
            Run(
                job.kind,
                job.seed,
                job.weight if job.kind == "adversary" else None,
                trainer.parameters(job),
                trainer.measured(job)["loss"],
            )
            for job in jobs
        ),
        Run("uniform", None, None, even),
    ]


def _check_tags(model: CapturedModel, classes: Classes) -> None:
    if classes.task == "token" and not any(name.startswith("B-") for name in classes.names):
        raise UsageError(
            f"{model} has no tag that begins a span, such as B-NP, so that there is no F1 of "
            "spans; give a tagger in the scheme IOB2, or its tags with "
            f"{setting('class_names=')}."
        )


def _about(plan: StudyPlan[Classified], digest: str) -> dict[str, Any]:
    """Return the dependencies of a student besides seed and λ, so that longer sweeps reuse it."""
    settings = plan.settings
    assert isinstance(settings, AdversarySettings)  # noqa: S101
    alike = settings.replace(lambdas=(), repeats=1, keep_models=False)
    return replace(plan, settings=alike).signature() | {"texts": digest}
