"""Models of single words, with the attention of others (Wiegreffe and Pinter 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64, Int64

from headlight.capture import CapturedModel, Classes
from headlight.encode import length_batches
from headlight.engine.batch_size import batch_tokens
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.kept_results import Origin, keep_result
from headlight.engine.labelled_texts import Classified, LabelledSource
from headlight.engine.work_folders import work_place
from headlight.errors import UsageError, setting
from headlight.files import Location
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.text_ids import text_id
from headlight.observations.variables import LongNames, Variable, described, long_names, with_slots
from headlight.reduce import Slots
from headlight_papers.classifiers.held_out_texts import digest_of, split_texts
from headlight_papers.classifiers.kept_files import kept_files
from headlight_papers.classifiers.scores import (
    MAJORITY,
    SCORES,
    derived_slots,
    macro_f1,
    majority_accuracy,
    span_f1,
)
from headlight_papers.spans import span_score
from headlight_papers.studies.guided import GuidedSettings
from headlight_papers.studies.guided.guides import guided_texts
from headlight_papers.studies.guided.models import GuidedTrainer, given_weights
from headlight_words.training.jobs import run_stages
from headlight_words.training.model_store import begin_folder

SCORES_OF_MODELS = {
    "accuracy": Variable("share of correct predictions", interval="share"),
    "f1": Variable(
        "F1, mean over classes; of tags of spans that of spans, strict IOB2", interval="share"
    ),
    "nll": Variable("negative log-likelihood of the gold labels", "nats", interval="positive"),
}

VARIABLES: LongNames = {
    **long_names(SCORES_OF_MODELS, {"": ", mean over seeds"}),
    **long_names(SCORES_OF_MODELS, {"own_": ", of the model itself"}),
    **{
        f"seed_{name}": (f"{score.meaning}, of one seed", score.unit)
        for name, score in SCORES_OF_MODELS.items()
    },
    MAJORITY: SCORES[MAJORITY],
    "loss": ("mean loss of an epoch of training", "nats"),
}
"""Long name and unit of every variable."""

Probabilities = Float64[np.ndarray, "text label"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Evaluation of predictions for held-out texts, or for words of held-out sentences.

    Attributes:
        labels: Gold classes.
        text_ids: Number of the text of each label; words of a sentence follow each other and share
            one.
        units: Number of the document, or text, of each label.
        settings: See `GuidedSettings`.
        guides: Names of the guides.
        tags: Names of the classes, if they are tags of words.
    """

    labels: Int64[np.ndarray, " label"]
    text_ids: Int64[np.ndarray, " label"]
    units: Int64[np.ndarray, " label"]
    settings: GuidedSettings
    guides: tuple[str, ...]
    tags: tuple[str, ...] = ()

    @cached_property
    def _starts(self) -> Int64[np.ndarray, " text"]:
        # Words of a sentence stand together, so that a new number begins a new sentence.
        return np.flatnonzero(np.diff(self.text_ids, prepend=-1))

    def numbers(self, probability: Probabilities) -> dict[str, dict[str, np.ndarray]]:
        """Return each number over all texts, and without each block of them."""
        predictions, number = probability.argmax(-1), probability.shape[-1]
        right = (predictions == self.labels).astype(np.float64)
        # A probability that is rounded to 0 would make the mean infinite.
        lost = -np.log(np.maximum(probability[np.arange(len(right)), self.labels], 1e-300))
        # Held-out texts are numbered one after the other, whichever were drawn.
        _, units = np.unique(self.units, return_inverse=True)
        # Tags of spans are scored by span, all other classes by the mean F1 of classes.
        if any(tag.startswith("B-") for tag in self.tags):
            spans = Slots.of(units[self._starts], self._spans(predictions)).compute()
            f1 = derived_slots(spans, span_f1)
        else:
            # F1 is a function of the confusion matrix, whose cells are summed by block.
            cells = np.eye(number**2)[self.labels * number + predictions]
            f1 = derived_slots(Slots.of(units, cells).compute(), macro_f1)
        return {
            "accuracy": Slots.of(units, right).compute(),
            "f1": f1,
            "nll": Slots.of(units, lost).compute(),
        }

    def _spans(self, predictions: Int64[np.ndarray, " label"]) -> Float64[np.ndarray, "text count"]:
        """Count correct, predicted and gold spans, by sentence."""
        rows = []
        parts = (np.split(labels, self._starts[1:]) for labels in (self.labels, predictions))
        for sentence in zip(*parts, strict=True):
            gold, predicted = ([self.tags[tag] for tag in tags] for tags in sentence)
            score = span_score([gold], [predicted])
            rows.append([score.correct, score.predicted, score.gold])
        return np.array(rows, dtype=np.float64)


def dataset(
    runs: Sequence[Sequence[tuple[Probabilities, Sequence[float]]]],
    model_probabilities: Probabilities,
    evaluation: Evaluation,
) -> xarray.Dataset:
    """Return the results of all models as named arrays.

    Args:
        runs: Predictions, and losses of the epochs, by guide and seed.
        model_probabilities: Predictions of the model itself.
        evaluation: See `Evaluation`.
    """
    values = [[evaluation.numbers(probability) for probability, _ in seeds] for seeds in runs]
    itself = evaluation.numbers(model_probabilities)
    variables: dict[str, Any] = {}
    for name in SCORES_OF_MODELS:
        by_seed, without, whole = (
            np.array(
                [[numbers_of_seed[name][part] for numbers_of_seed in seeds] for seeds in values]
            )
            for part in ("mean", "without", "whole")
        )
        slots = {
            # Means over seeds are taken before intervals, which are over texts.
            "mean": by_seed.mean(1),
            "without": without.mean(1).T,
            "whole": whole[:, 0].T,
            "units": itself[name]["units"],
        }
        variables |= with_slots(name, ("guide",), slots["mean"], slots)
        variables |= with_slots(f"own_{name}", (), itself[name]["mean"], itself[name])
        variables[f"seed_{name}"] = (("guide", "seed"), by_seed)
    labels = evaluation.labels[:, None].tolist()
    variables[MAJORITY] = ((), majority_accuracy(labels, model_probabilities.shape[-1]))
    variables["loss"] = (
        ("guide", "seed", "epoch"),
        np.array([[losses for _, losses in seeds] for seeds in runs]),
    )
    settings = evaluation.settings
    coordinates = {
        "guide": list(evaluation.guides),
        "seed": list(range(settings.repeats)),
        "epoch": list(range(1, settings.epochs + 1)),
    }
    return described(variables, coordinates, VARIABLES)


RUNS = "runs"
"""Folder of finished models."""


def run(
    source: LabelledSource,
    model: CapturedModel,
    settings: GuidedSettings | None = None,
    *,
    folder: OpenFolder = NOWHERE,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Train models that look at every token alone, with attention that is given and frozen.

    What it takes and refuses is said by
    `headlight.engine.study.CorpusStudy.run`; the source is a
    `headlight.engine.labelled_texts.LabelledSource`, and the model a classifier of texts or of
    words.  What is finished of a run on this machine is used again.

    Returns:
        Over ``guide``, on the held-out texts: ``accuracy``, ``f1`` and ``nll`` as means over
        seeds; by ``seed`` with the prefix ``seed_``, of the model itself with ``own_``; ``loss`` by
        epoch.

    Raises:
        UsageError: a further model reads other tokens.
        CorpusError: the corpus holds too few texts or one class, or a label is none of the classes.
        CaptureError: training diverged.

    Source: Wiegreffe and Pinter (2019), Section 3.4 and Table 3, whose attention was frozen by
        being read from a file, as it is here. For words Yang (2020), Section 6: the state of every
        token goes through one layer, and each word is classified by the sum of these states,
        weighed with its row of attention.
    """
    settings = settings or GuidedSettings()
    title = "Attention given to a model of single words"
    plan, classes = plan_classifier_study("guided", title, source, model, settings)
    if classes.task == "token" and settings.rows != "mean":
        raise UsageError(
            f"{model} predicts a class for every word, which has a row of its own; leave out "
            f"{setting('rows')}."
        )
    training, held_out, read = split_texts(plan, classes, settings, settings.held_out)
    digest = digest_of(training, held_out)
    files = kept_files(settings, folder, plan.name, model)

    def compute(place: Location | None) -> xarray.Dataset:
        model.verify_on(training)
        with work_place(place, [RUNS], overwrite=folder.overwrite) as work_folder:
            # The number of seeds is no part of the signature: finished models of other seeds are
            # used again.
            alike = replace(plan, settings=settings.replace(repeats=1))
            about = alike.signature() | {"texts": digest}
            tagger = classes.task == "token"
            guided = partial(guided_texts, tagger=tagger)
            trainer = GuidedTrainer(
                guided(training, model, plan.sites, settings),
                guided(held_out, model, plan.sites, settings),
                model.transformer.get_input_embeddings().weight.shape[0],
                len(classes.names),
                settings,
                begin_folder(work_folder / RUNS, about),
                files.folder if files else None,
                tagger,
            )
            result = _trained(trainer, classes, model, held_out, progress)
            if files:
                files.save("given", given_weights(trainer))
        return result.assign_attrs(corpus_digest=digest, **read)

    origin = Origin.from_plan(plan)
    return keep_result(origin, compute, folder=folder, command=command, digest=lambda: digest)


def _trained(
    trainer: GuidedTrainer,
    classes: Classes,
    model: CapturedModel,
    held_out: Sequence[Classified],
    progress: bool,
) -> xarray.Dataset:
    """Train all models, and return their results with those of the model that reads whole texts."""
    jobs, settings = trainer.jobs, trainer.settings
    run_stages(
        trainer, [[job for seeds in jobs for job in seeds]], settings.processes, show=progress
    )
    runs = [
        [
            (trainer.parameters(job)["probability"].numpy(), trainer.measured(job)["loss"])
            for job in seeds
        ]
        for seeds in jobs
    ]
    units = {text_id(example): example.unit for example in held_out}
    streams = [text.stream for text in trainer.held_out]
    evaluation = Evaluation(
        np.array([text.label for text in trainer.held_out]),
        np.array(streams, dtype=np.int64),
        np.array([units[text] for text in streams]),
        settings,
        trainer.guides,
        tuple(classes.names) if trainer.tagger else (),
    )
    return dataset(runs, _predictions(model, held_out, settings), evaluation)


def _predictions(
    model: CapturedModel, examples: Sequence[Classified], settings: GuidedSettings
) -> Probabilities:
    """Return the predictions of the model that reads whole texts."""
    rows_by_text: dict[int, torch.Tensor] = {}
    for chosen in length_batches(examples, batch_tokens(model, settings)):
        some = [examples[at] for at in chosen]
        positions = LabelPositions(some, model.transformer.device)
        rows = positions.probabilities(model, model.collate(some))
        rows_by_text |= {at: rows[positions.owners == place] for place, at in enumerate(chosen)}
    return torch.cat([rows_by_text[at] for at in range(len(examples))]).numpy()
