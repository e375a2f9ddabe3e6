"""Models with the predictions of a classifier and other attention (Wiegreffe and Pinter 2019)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import xarray

from headlight.analysis.classifiers.plan import Classified, LabelledSource, plan_classifier_study
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import StudyPlan
from headlight.analysis.runner import Origin, keep_result
from headlight.analysis.work_folders import work_place
from headlight.capture import CapturedModel, Classes
from headlight.errors import UsageError
from headlight.files import Location
from headlight_papers.studies.adversary import AdversarySettings
from headlight_papers.studies.adversary.evaluation import evaluate
from headlight_papers.studies.adversary.result import Run, dataset, read_instances
from headlight_papers.studies.adversary.selection import AttentionSelection
from headlight_papers.studies.adversary.students import Job, StudentTrainer
from headlight_papers.training import begin_folder, choose_processes, run_stages
from headlight_papers.training.split import digest_of, split_texts

RUNS, MODELS = "runs", "models"
"""Folders of what was measured of each student, and of the students."""


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: AdversarySettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Train models that predict as a classifier does, and attend otherwise.

    The loss is D(predictions) − λ D(attention); see `headlight_papers.training.adversarial`.  The
    classifier is never changed, and its attention is recomputed for every batch.  Attention is
    that before dropout.  The last epoch counts.  Beside the adversaries stand the classifier
    itself, models that are trained on the gold labels with other seeds, and the classifier with
    uniform attention, for which it was not trained.

    What it takes and refuses is said by `headlight.analysis.study.CorpusStudy.run`; the source is a
    `headlight.analysis.classifiers.plan.LabelledSource`, and the model a classifier of texts or of
    tokens.  What is finished of a run on this machine is used again.

    Returns:
        Over ``run``, each with its ``kind`` (``base``, ``adversary``, ``seed``, ``uniform``),
        ``weight`` λ and ``seed``, on the held-out texts: ``accuracy``, ``f1``, ``nll``,
        ``taught_nll``, ``agreement``, ``tvd``, ``kl`` and ``jsd`` with their intervals, and the
        last two by layer and head; ``loss`` by epoch.  With ``instances`` also ``instance_jsd`` and
        ``instance_tvd``, of single texts.

    Raises:
        ModelError: no student can begin with what ``start`` names.
        ResultError: there is no result of ``instances``.
        CorpusError: the corpus holds too few texts or one class, or a label is none of the classes.
        CaptureError: training diverged.

    Source: Wiegreffe and Pinter (2019), Section 4 and Figure 5; Yang, Section 4.2.
    """
    settings = settings or AdversarySettings()
    start = settings.start_for(model.name)
    settings = settings.replace(start=start)
    _check(settings, model, folder)
    title = "Other attention with the same predictions"
    plan, classes = plan_classifier_study("adversary", title, source, model, settings)
    _check_tags(model, classes)
    instances = settings.instances and read_instances(settings.instances, model, plan.layers)
    training, held_out, read = split_texts(plan, classes, settings, settings.held_out)
    digest = digest_of(training, held_out)
    selection = AttentionSelection.of(plan.sites, settings)

    def compute(place: Location | None) -> xarray.Dataset:
        model.verify_on(training)
        names = (RUNS, MODELS) if settings.keep_models else (RUNS,)
        with work_place(
            place, names, others=[MODELS], overwrite=bool(folder and folder.overwrite)
        ) as own:
            trainer = StudentTrainer(
                model,
                start,
                classes,
                selection,
                training,
                held_out,
                begin_folder(own / RUNS, _about(plan, digest)),
                own / MODELS if settings.keep_models else None,
            )
            with torch.random.fork_rng(devices=[]):
                trainer.begin(Job("seed", 0))  # refuses what does not fit before the work
            runs = _runs(trainer, settings, progress)
            labels = [text.labels for text in held_out]
            found = dataset(runs, classes, selection, labels, instances or None)
        return found.assign_attrs(corpus_digest=digest, **read)

    origin = Origin.of(plan)
    return keep_result(origin, compute, folder=folder, command=command, digest=lambda: digest)


def _runs(trainer: StudentTrainer, settings: AdversarySettings, progress: bool) -> list[Run]:
    """Everything that has a row, in the order of the result."""
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


def _check(settings: AdversarySettings, model: CapturedModel, folder: RunFolder | None) -> None:
    """Refuse settings that do not go together.

    Raises:
        UsageError: it is so.
    """
    place = folder.place if folder else None
    if settings.keep_models and not isinstance(place, Path):
        raise UsageError("models are kept in a folder of this machine; name one with --out.")
    choose_processes(settings.processes, model)


def _check_tags(model: CapturedModel, classes: Classes) -> None:
    if classes.task == "token" and not any(name.startswith("B-") for name in classes.names):
        raise UsageError(
            f"{model.name} has no tag that begins a span, such as B-NP, so that there is no F1 of "
            "spans; give a tagger in the scheme IOB2, or its tags with class_names "
            "(--class-names)."
        )


def _about(plan: StudyPlan[Classified], digest: str) -> dict[str, Any]:
    """Return the dependencies of a student besides seed and λ, so that longer sweeps reuse it."""
    settings = plan.settings
    assert isinstance(settings, AdversarySettings)  # noqa: S101
    alike = settings.replace(lambdas=(), repeats=1, instances=None, keep_models=False)
    return replace(plan, settings=alike).signature() | {"texts": digest}
