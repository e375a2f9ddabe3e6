"""The classifiers that papers train on a set of texts, kept among the results."""

import re
from dataclasses import astuple
from typing import Any

from headlight_papers.papers.folder import RESULTS
from headlight_papers.papers.labelled_sets import named_sets
from headlight_papers.papers.reproduction import Reproduction, begun_folder, signature_of
from headlight_papers.papers.text_classifiers.data import data_key, open_data
from headlight_papers.papers.text_classifiers.jobs import PATIENCE, ClassifierJob, ClassifierTrainer
from headlight_papers.training import run_stages
from headlight_papers.training.adversarial import AdversarialObjective
from headlight_papers.training.teacher import TrainingConfig

MODELS = "classifiers"
"""The folder of trained models, among the results."""


def sets_of(reproduction: Reproduction) -> dict[str, str]:
    """Sources of labelled texts by their titles."""
    return named_sets(reproduction.sources.labelled)


def file_name(title: str) -> str:
    """Return the name of the file for a set."""
    return re.sub(r"\W+", "_", title.lower())


def training_key(reproduction: Reproduction, title: str) -> dict[str, Any]:
    """Return the dependencies of the classifiers of a set, as JSON."""
    settings = reproduction.settings
    return {
        **data_key(reproduction, sets_of(reproduction)[title]),
        "epochs": settings.epochs,
        "goal": astuple(_objective(reproduction)),
        "selection": settings.selection,
    }


def trained(
    reproduction: Reproduction, title: str, stages: list[list[ClassifierJob]]
) -> ClassifierTrainer:
    """Classifiers of a set, stage after stage; those that are there already are used again."""
    settings, key = reproduction.settings, training_key(reproduction, title)
    place = reproduction.folder / RESULTS / MODELS / file_name(title)
    objective = _objective(reproduction)
    config = TrainingConfig(settings.epochs, objective, settings.selection, PATIENCE)
    data = open_data(reproduction, sets_of(reproduction)[title])
    trainer = ClassifierTrainer(data, config, begun_folder(place, signature_of(None, key)))
    run_stages(trainer, stages, settings.processes, show=reproduction.progress)
    return trainer


def _objective(reproduction: Reproduction) -> AdversarialObjective:
    """Return the adversaries' objective; a paper that trains none has no settings for it."""
    given = vars(reproduction.settings)
    goal = (given[name] for name in ("predictions", "distance") if name in given)
    return AdversarialObjective(*goal)
