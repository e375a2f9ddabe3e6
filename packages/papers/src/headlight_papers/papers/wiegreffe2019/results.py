"""The results that the exhibits are made of: all models of a set, and single texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import torch
import xarray

from headlight.result import describe
from headlight.vocabulary import PARTS
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers import (
    ClassifierJob,
    ClassifierTrainer,
    Guide,
    distances,
    drawn_from,
    file_name,
    set_key,
    sets_of,
    trained,
)
from headlight_papers.papers.trained import Rows, beside, columns_of, lambdas_of
from headlight_papers.papers.wiegreffe2019 import Settings
from headlight_papers.training import one_thread
from headlight_papers.training.text_classifier import Encoder
from headlight_papers.training.text_predictor import TextPredictor, adversaries

IN_CONTEXT: tuple[Encoder, ...] = ("lstm", "transformer")
"""Encoders that are asked about; the second is not in the paper."""

NUMBERS = {
    "f1": ("F1 of the second class", "1"),
    "accuracy": ("share of right classes", "1"),
    "auc": ("area under the ROC curve", "1"),
    "nll": ("negative log-likelihood of gold classes per text", "nats"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "kl": ("KL(attention ‖ the base's) of a text", "nats"),
    "jsd": ("JSD of attention and the base's, of a text", "nats"),
    "agreement": ("share of texts with the base's class", "1"),
}
VARIABLES = {
    **NUMBERS,
    "epochs": ("passes over the training part", "1"),
    "largest": ("the largest weight of a text in the base of the first seed", "1"),
    "seed_jsd": ("JSD of the attention of other seeds and that base's, median over seeds", "nats"),
    "adversary_jsd": ("JSD of the attention of an adversary and that base's", "nats"),
    "instance_jsd": ("ε-max JSD: of the most different attention within ε and the base's", "nats"),
    "instance_tvd": ("total variation of predictions with that attention", "1"),
    "texts": ("how many texts there are", "1"),
    "length": ("words of a text on average", "1"),
}


def load_all(reproduction: Reproduction) -> dict[str, xarray.Dataset]:
    """The results of every set, by its title."""
    return {title: load_result(reproduction, title) for title in sets_of(reproduction)}


def frames_of(reproduction: Reproduction, part: str = "test") -> pandas.DataFrame:
    """A row for each model of every set, with what was measured on one part."""
    frames = []
    for title, found in load_all(reproduction).items():
        rows = found[[*NUMBERS, "epochs"]].sel(part=part).to_dataframe().reset_index(drop=True)
        frames.append(rows.assign(set=title))
    return pandas.concat(frames, ignore_index=True)


def load_result(reproduction: Reproduction, title: str) -> xarray.Dataset:
    """Load the measurements of all models of one set.

    Dimension ``run`` is models, of ``kind`` ``base``, ``adversary``, ``guided`` (with attention
    given and frozen), ``seed`` (the base of another seed beside the first) or ``uniform`` (a base
    with uniform attention put in, for which it was not trained). Dimension ``text`` is those of the
    test part.
    """
    settings, stages = reproduction.settings, _stages(reproduction)
    jobs = [job for stage in stages for job in stage]

    def make(_: Path) -> xarray.Dataset:
        trainer = trained(reproduction, title, stages)
        with one_thread():
            rows = [
                *((vars(job), trainer.measured(job)) for job in jobs),
                *(row for each in IN_CONTEXT for row in _references(trainer, each, settings)),
            ]
            texts = _texts(trainer, lambdas_of(reproduction), reproduction)
        return _dataset(rows, texts, trainer)

    return reproduction.keep(
        file_name(title),
        "wiegreffe2019",
        make,
        jobs=[job.name for job in jobs],
        instances=settings.max_adversaries,
        **set_key(reproduction, title),
    )


def _stages(reproduction: Reproduction) -> list[list[ClassifierJob]]:
    """Return the models to train, stage after stage."""
    seeds = range(reproduction.settings.repeats)
    weights = lambdas_of(reproduction)
    encoders: tuple[Encoder, ...] = (*IN_CONTEXT, "average")
    bases = [ClassifierJob("base", each, seed) for each in encoders for seed in seeds]
    uniform = [
        ClassifierJob("guided", each, seed, None, "uniform")
        for each in IN_CONTEXT
        for seed in seeds
    ]
    plain: tuple[Guide, ...] = ("uniform", "base")
    guided = [
        ClassifierJob("guided", "average", seed, None, guide, "lstm")
        for guide in plain
        for seed in seeds
    ]
    taught = [ClassifierJob("adversary", each, 0, one) for each in IN_CONTEXT for one in weights]
    misled = [ClassifierJob("guided", "average", 0, one, "adversary", "lstm") for one in weights]
    return [bases, [*taught, *uniform, *guided], misled]


def _references(trainer: ClassifierTrainer, encoder: Encoder, settings: Settings) -> Rows:
    """Beside the first base: those of other seeds, and itself with uniform attention."""
    return beside(trainer, ClassifierJob("base", encoder, 0), _other_seeds(encoder, settings))


def _other_seeds(encoder: Encoder, settings: Settings) -> list[ClassifierJob]:
    return [ClassifierJob("base", encoder, seed) for seed in range(1, settings.repeats)]


def _texts(
    trainer: ClassifierTrainer, weights: list[float], reproduction: Reproduction
) -> dict[str, Any]:
    """Measure single texts of the test part, for each encoder."""
    parts = [_texts_of(trainer, encoder, weights, reproduction) for encoder in IN_CONTEXT]
    dims = {"adversary_jsd": ("encoder_of", "lambda", "text")}
    return {
        name: (dims.get(name, ("encoder_of", "text")), np.stack([part[name] for part in parts]))
        for name in parts[0]
    }


def _texts_of(
    trainer: ClassifierTrainer, encoder: Encoder, weights: list[float], reproduction: Reproduction
) -> dict[str, np.ndarray]:
    batches, settings = trainer.data.test, reproduction.settings
    job = ClassifierJob("base", encoder, 0)
    base = trainer.outputs(job, ("test",))["test"]

    def far(other: ClassifierJob) -> np.ndarray:
        return distances(batches, trainer.outputs(other, ("test",))["test"], base)["jsd"].numpy()

    count = trainer.data.count("test")
    seeds = [far(other) for other in _other_seeds(encoder, settings)]
    found = {
        "largest": torch.cat([each.attention[:, 0, 0].amax(-1) for each in base]).double().numpy(),
        "seed_jsd": np.median(seeds, 0) if seeds else np.full(count, np.nan),
        "adversary_jsd": np.stack(
            [far(ClassifierJob("adversary", encoder, 0, one)) for one in weights]
        ),
    }
    return found | _instances(trainer, job, reproduction)


def _instances(
    trainer: ClassifierTrainer, job: ClassifierJob, reproduction: Reproduction
) -> dict[str, np.ndarray]:
    """The most different attention with nearly the same prediction, of some texts; else NaN."""
    settings, batches = reproduction.settings, trainer.data.test
    at = {
        number: place
        for place, number in enumerate(torch.cat([each.numbers for each in batches]).tolist())
    }
    found = {name: np.full(len(at), np.nan) for name in ("instance_jsd", "instance_tvd")}
    model, generator = trainer.model(job), torch.Generator().manual_seed(settings.seed)
    for batch in drawn_from(batches, settings.max_adversaries, settings.seed):
        other = adversaries(TextPredictor(model, batch), generator)
        places = [at[number] for number in batch.numbers.tolist()]
        found["instance_jsd"][places] = other.jsd.numpy()
        found["instance_tvd"][places] = other.moved.numpy()
    return found


def _dataset(
    rows: Rows,
    texts: dict[str, Any],
    trainer: ClassifierTrainer,
) -> xarray.Dataset:
    parts, data = ("dev", "test"), trainer.data
    values: dict[str, Any] = {
        name: (
            ("run", "part"),
            np.array([[of[part].get(name, np.nan) for part in parts] for _, of in rows]),
        )
        for name in NUMBERS
    }
    values |= {
        "epochs": (
            "run",
            [float(len(of["curve"]["auc"])) if "curve" in of else np.nan for _, of in rows],
        ),
        "texts": ("split", [data.count(part) for part in PARTS]),
        "length": ("split", [float(data.lengths(part).double().mean()) for part in PARTS]),
        **texts,
    }
    weights = sorted({each["weight"] for each, _ in rows if each["kind"] == "adversary"})
    found = xarray.Dataset(
        values,
        coords={
            "part": list(parts),
            "split": list(PARTS),
            "encoder_of": list(IN_CONTEXT),
            "lambda": weights,
            **columns_of(rows, "kind", "encoder", "seed", "weight", "guide", "of"),
        },
    )
    return describe(found, VARIABLES)
