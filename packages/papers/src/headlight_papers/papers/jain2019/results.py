"""The results that the exhibits are made of: for each set and encoder, one number a text."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import torch
import xarray

from headlight.measures import kendall
from headlight.result import describe
from headlight.vocabulary import PARTS
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers.data import TextData, drawn_from
from headlight_papers.papers.text_classifiers.jobs import ClassifierJob
from headlight_papers.papers.text_classifiers.models import (
    file_name,
    sets_of,
    trained,
    training_key,
)
from headlight_papers.training import one_thread
from headlight_papers.training.outputs import outputs_of
from headlight_papers.training.text_classifier import Encoder, TextBatch, TextClassifier
from headlight_papers.training.text_predictor import (
    TextPredictor,
    adversaries,
    lost_words,
    permuted_change,
)

TRIED: tuple[Encoder, ...] = ("lstm", "average", "transformer")
"""Two of the paper's encoders, and ours."""
AT_ONCE = 128
"""Texts for which other attention is looked for at a time."""

ATTENTION, GRADIENT, LEFT_OUT = "attention", "gradient", "left out"
PAIRS = {
    "attention_gradient": (ATTENTION, GRADIENT),
    "attention_left_out": (ATTENTION, LEFT_OUT),
    "gradient_left_out": (GRADIENT, LEFT_OUT),
}
"""Which measures are compared, by the names of `published.Released`."""

QUALITY = {
    "f1": ("F1 of the second class on the test part", "1"),
    "accuracy": ("share of right classes on the test part", "1"),
    "auc": ("area under the ROC curve on the test part", "1"),
    "nll": ("negative log-likelihood of the classes on the test part", "nats"),
}
VARIABLES = {
    **QUALITY,
    "tau": ("Kendall's τ_b of two measures over the words of a text", "1"),
    "p": ("its two-sided p-value", "1"),
    "predicted": ("the class that the model predicts", "1"),
    "words": ("words of the text", "1"),
    "largest": ("the largest weight of attention", "1"),
    "permuted": ("median total variation of predictions when weights change places", "1"),
    "jsd": ("ε-max JSD: of the most different attention within ε and the model's own", "nats"),
    "moved": ("total variation of predictions with that attention", "1"),
    "texts": ("how many texts there are", "1"),
    "length": ("words of a text on average", "1"),
    "vocabulary": ("words with a vector of their own", "1"),
    "given": ("share of these whose vector was given", "1"),
}


def load_all(reproduction: Reproduction) -> dict[tuple[str, Encoder], xarray.Dataset]:
    """The results of every set with every encoder."""
    return {
        (title, encoder): load_result(reproduction, title, encoder)
        for title in sets_of(reproduction)
        for encoder in TRIED
    }


def load_result(reproduction: Reproduction, title: str, encoder: Encoder) -> xarray.Dataset:
    """Load the measurements of one model; all models of a set are trained before.

    Dimensions: ``text``, those of the test part that are looked at one by one; ``pair`` of measures
    that are compared; ``part`` and ``class``.  ``jsd`` and ``moved`` are NaN for texts of which no
    other attention was looked for.
    """
    settings = reproduction.settings

    def make(_: Path) -> xarray.Dataset:
        jobs = {each: ClassifierJob("base", each, settings.seed) for each in TRIED}
        trainer = trained(reproduction, title, [[*jobs.values()]])
        with one_thread():
            found = _measured(trainer.model(jobs[encoder]), trainer.data, reproduction)
        quality = trainer.measured(jobs[encoder])["test"]
        return _described(found, trainer.data, {each: quality[each] for each in QUALITY})

    return reproduction.keep(
        f"{file_name(title)}-{encoder}",
        "jain2019",
        make,
        explained=settings.max_explained,
        adversaries=settings.max_adversaries,
        encoder=encoder,
        **training_key(reproduction, title),
    )


def frame_of(found: xarray.Dataset) -> pandas.DataFrame:
    """A row for each text, with τ and p of each pair, and its predicted class."""
    columns = {
        name: found[name].to_numpy()
        for name in ("predicted", "words", "largest", "permuted", "jsd")
    }
    for pair in PAIRS:
        columns[pair] = found["tau"].sel(pair=pair).to_numpy()
        columns[f"{pair}_p"] = found["p"].sel(pair=pair).to_numpy()
    return pandas.DataFrame(columns)


def _measured(
    model: TextClassifier, data: TextData, reproduction: Reproduction
) -> dict[str, np.ndarray]:
    """Measure each text, in the order of the batches."""
    settings = reproduction.settings
    batches = drawn_from(data.test, settings.max_explained, settings.seed)
    others = drawn_from(batches, settings.max_adversaries, settings.seed, AT_ONCE)
    generator = torch.Generator().manual_seed(settings.seed)
    predictors = [TextPredictor(model, batch) for batch in batches]
    rows = list(chain.from_iterable(map(_compared, predictors)))
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    moved = [permuted_change(predictor, generator) for predictor in predictors]
    found["permuted"] = np.concatenate(moved)
    found |= _adversarial(model, others, found["number"], generator)
    return found


def _compared(predictor: TextPredictor) -> Iterator[dict[str, Any]]:
    """Yield, for each text, how measures agree, and the model's prediction.

    The gradient is that of the second class (of either, but for the sign), with the weights of
    attention held fixed: Jain and Wallace (2019), Algorithm 1.
    """
    batch, weight = predictor.batch, predictor.weight
    lengths = batch.real.sum(-1).tolist()
    gradient = predictor.gradient_input(1, attention_fixed=True).abs().double().numpy()
    left_out = lost_words(predictor)
    (output,) = outputs_of(predictor.model, [batch])
    for row, length in enumerate(lengths):
        values = {
            ATTENTION: weight[row, :length].double().numpy(),
            GRADIENT: gradient[row, :length],
            LEFT_OUT: left_out[row],
        }
        found = [kendall(values[one], values[other]) for one, other in PAIRS.values()]
        yield {
            "number": int(batch.numbers[row]),
            "predicted": int(output.probability[row].argmax()),
            "words": length,
            "largest": float(weight[row].max()),
            "tau": [each.value for each in found],
            "p": [each.p for each in found],
        }


def _adversarial(
    model: TextClassifier,
    batches: list[TextBatch],
    numbers: np.ndarray,
    generator: torch.Generator,
) -> dict[str, np.ndarray]:
    """The most different attention of some of the texts; NaN of the others."""
    at = {int(number): place for place, number in enumerate(numbers)}
    found = {name: np.full(len(numbers), np.nan) for name in ("jsd", "moved")}
    for batch in batches:
        places = [at[number] for number in batch.numbers.tolist()]
        other = adversaries(TextPredictor(model, batch), generator)
        found["jsd"][places] = other.jsd.numpy()
        found["moved"][places] = other.moved.numpy()
    return found


def _described(
    found: dict[str, np.ndarray], data: TextData, quality: dict[str, float]
) -> xarray.Dataset:
    """As a result, with what is to be known of the set."""
    values: dict[str, Any] = {
        name: (("text", "pair") if array.ndim == 2 else "text", array)
        for name, array in found.items()
        if name != "number"
    }
    classes = len(data.classes)
    counts = [np.bincount(data.labels(part).numpy(), minlength=classes) for part in PARTS]
    given = 0.0 if data.vectors is None else float(data.vectors.any(-1).double().mean())
    values |= {
        "texts": (("part", "class"), np.array(counts)),
        "length": ("part", [float(data.lengths(part).double().mean()) for part in PARTS]),
        "vocabulary": ((), len(data.vocabulary)),
        "given": ((), given),
        **{name: ((), value) for name, value in quality.items()},
    }
    coords = {
        "text": found["number"],
        "pair": list(PAIRS),
        "part": list(PARTS),
        "class": list(data.classes),
    }
    return describe(xarray.Dataset(values, coords=coords), VARIABLES)
