"""Results of each set and encoder, one number a text."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch
import xarray

from headlight.measures import kendall
from headlight.result import describe
from headlight.vocabulary import PARTS
from headlight_papers.papers.attention_comparison import NUMBERS, adversaries_of_some
from headlight_papers.papers.jain2019 import Settings
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers import (
    ClassifierJob,
    ClassifierTrainer,
    classifiers_of,
    file_name,
    sets_of,
)
from headlight_papers.papers.text_data import TextData, drawn_from
from headlight_papers.training.model_outputs import outputs_of
from headlight_papers.training.text_classifier import TextClassifier
from headlight_papers.training.text_encoders import Encoder
from headlight_papers.training.text_predictor import TextPredictor, lost_words, permuted_change

TRIED: tuple[Encoder, ...] = ("lstm", "average", "transformer")
"""Two of the paper's encoders, and ours."""
AT_ONCE = 128
"""Texts for which other attention is searched at a time."""

ATTENTION, GRADIENT, LEFT_OUT = "attention", "gradient", "left out"
PAIRS = {
    "attention_gradient": (ATTENTION, GRADIENT),
    "attention_left_out": (ATTENTION, LEFT_OUT),
    "gradient_left_out": (GRADIENT, LEFT_OUT),
}
"""Pairs of measures that are compared, by the names of `published.Released`."""

QUALITY = ("f1", "accuracy", "auc", "nll")
VARIABLES = {
    **{name: NUMBERS[name] for name in QUALITY},
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
    """Load the results of every set with every encoder."""
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
    jobs = {
        encoder_name: ClassifierJob("base", encoder_name, settings.seed) for encoder_name in TRIED
    }

    def measure(trainer: ClassifierTrainer) -> xarray.Dataset:
        columns = _measured(trainer.model(jobs[encoder]), trainer.data, settings)
        quality = trainer.measured(jobs[encoder])["test"]
        return _described(columns, trainer.data, {name: quality[name] for name in QUALITY})

    return classifiers_of(reproduction, title).measure(
        [[*jobs.values()]],
        measure,
        name=f"{file_name(title)}-{encoder}",
        stage="jain2019",
        explained=settings.max_explained,
        adversaries=settings.max_adversaries,
        encoder=encoder,
    )


def _measured(model: TextClassifier, data: TextData, settings: Settings) -> dict[str, np.ndarray]:
    """Measure each text, in the order of the batches."""
    batches = drawn_from(data.parts["test"], settings.max_explained, settings.seed)
    others = drawn_from(batches, settings.max_adversaries, settings.seed, AT_ONCE)
    generator = torch.Generator().manual_seed(settings.seed)
    predictors = [TextPredictor(model, batch) for batch in batches]
    rows = list(chain.from_iterable(map(_compared, predictors)))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    moved = [permuted_change(predictor, generator) for predictor in predictors]
    columns["permuted"] = np.concatenate(moved)
    other = adversaries_of_some(model, others, columns["number"].tolist(), generator)
    columns["jsd"], columns["moved"] = other
    return columns


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
        correlations = [kendall(values[first], values[second]) for first, second in PAIRS.values()]
        yield {
            "number": int(batch.numbers[row]),
            "predicted": int(output.probability[row].argmax()),
            "words": length,
            "largest": float(weight[row].max()),
            "tau": [correlation.value for correlation in correlations],
            "p": [correlation.p for correlation in correlations],
        }


def _described(
    columns: dict[str, np.ndarray], data: TextData, quality: dict[str, float]
) -> xarray.Dataset:
    """Return columns as a result, with the facts about the set."""
    values: dict[str, Any] = {
        name: (("text", "pair") if array.ndim == 2 else "text", array)
        for name, array in columns.items()
        if name != "number"
    }
    classes = len(data.classes)
    counts = [np.bincount(data.labels(part).numpy(), minlength=classes) for part in PARTS]
    covered = 0.0 if data.vectors is None else float(data.vectors.any(-1).double().mean())
    values |= {
        "texts": (("part", "class"), np.array(counts)),
        "length": ("part", [float(data.lengths(part).double().mean()) for part in PARTS]),
        "vocabulary": ((), len(data.vocabulary)),
        "given": ((), covered),
        **{name: ((), value) for name, value in quality.items()},
    }
    coords = {
        "text": columns["number"],
        "pair": list(PAIRS),
        "part": list(PARTS),
        "class": list(data.classes),
    }
    return describe(xarray.Dataset(values, coords=coords), VARIABLES)


ENCODER_NAMES: dict[Encoder, str] = {
    "lstm": "BiLSTM",
    "average": "average",
    "transformer": "Transformer",
}

Results = Mapping[tuple[str, Encoder], xarray.Dataset]


def notes_of(reproduction: Reproduction, results: Results) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    settings = reproduction.settings
    first = next(iter(results.values()))
    covered = float(first["given"])
    vectors = (
        f"{covered:.0%} of the words of the first set begin with the vectors given"
        if covered
        else "all vectors of words begin at random"
    )
    chosen = "development" if settings.selection == "dev" else "test"
    return [
        "Other data, other split: the sets are those of the files given, split here, and published "
        "numbers are of the authors' sets. Directions can be compared, and not digits.",
        f"One model of each kind and set, of seed {settings.seed}, as in the paper; at most "
        f"{settings.epochs} epochs, the best by the area under the ROC curve on the {chosen} part. "
        f"Of the vectors of words, {vectors}, and are trained on; the released code has fastText "
        "(300) and GloVe (300).",
        f"Of each test part {settings.max_explained} texts at most, drawn, are looked at one by "
        f"one, the same for every encoder, and of {settings.max_adversaries} other attention is "
        "looked for; the paper has all. Texts that the released code leaves out by their length "
        f"are left out, and those of more than {settings.max_words} words.",
        "There are no marks before and behind a text, which the authors' models read and do not "
        "attend to. The encoder Transformer, one layer of four heads under the same attention, is "
        "ours.",
    ]
