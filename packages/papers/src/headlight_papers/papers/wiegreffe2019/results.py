"""The results that the exhibits are made of: all models of a set, and single texts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas
import torch
import xarray

from headlight.result import describe
from headlight.vocabulary import PARTS
from headlight_papers.papers.attention_comparison import NUMBERS, adversaries_of_some, distances
from headlight_papers.papers.model_tables import reference_rows, run_table
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import lambdas_of
from headlight_papers.papers.text_classifiers import (
    ClassifierJob,
    ClassifierTrainer,
    Guide,
    classifiers_of,
    file_name,
    sets_of,
)
from headlight_papers.papers.text_data import drawn_from
from headlight_papers.papers.wiegreffe2019 import Settings
from headlight_papers.training.text_encoders import Encoder

IN_CONTEXT: tuple[Encoder, ...] = ("lstm", "transformer")
"""Encoders that are asked about; the second is not in the paper."""

VARIABLES = {
    "largest": ("the largest weight of a text in the base of the first seed", "1"),
    "seed_jsd": ("JSD of the attention of other seeds and that base's, median over seeds", "nats"),
    "adversary_jsd": ("JSD of the attention of an adversary and that base's", "nats"),
    "instance_jsd": ("ε-max JSD: of the most different attention within ε and the base's", "nats"),
    "instance_tvd": ("total variation of predictions with that attention", "1"),
    "texts": ("how many texts there are", "1"),
    "length": ("words of a text on average", "1"),
}


def load_all(reproduction: Reproduction) -> dict[str, xarray.Dataset]:
    """Load the results of every set, by its title."""
    return {title: load_result(reproduction, title) for title in sets_of(reproduction)}


def frames_of(reproduction: Reproduction) -> pandas.DataFrame:
    """Return a row for each model of every set, with its numbers on the test part."""
    frames = []
    for title, result in load_all(reproduction).items():
        rows = result[[*NUMBERS, "epochs"]].sel(part="test").to_dataframe().reset_index(drop=True)
        frames.append(rows.assign(set=title))
    return pandas.concat(frames, ignore_index=True)


def load_result(reproduction: Reproduction, title: str) -> xarray.Dataset:
    """Load the measurements of all models of one set.

    Dimension ``run`` is models, of ``kind`` ``base``, ``adversary``, ``guided`` (with attention
    given and frozen), ``seed`` (the base of another seed beside the first) or ``uniform`` (a base
    with uniform attention put in, for which it was not trained). Dimension ``text`` is those of the
    test part.
    """
    settings, weights = reproduction.settings, lambdas_of(reproduction)
    stages = _stages(settings.repeats, weights)

    def measure(trainer: ClassifierTrainer) -> xarray.Dataset:
        bases = [[job for job in stages[0] if job.encoder == encoder] for encoder in IN_CONTEXT]
        references = [
            row for base, *others in bases for row in reference_rows(trainer, base, others)
        ]
        texts = [_texts_of(trainer, base, weights, settings) for base in bases]
        models = run_table(trainer, [job for stage in stages for job in stage], references, NUMBERS)
        data, axes = trainer.data, ("encoder_of", "lambda", "text")
        counts = [data.count(part) for part in PARTS]
        lengths = [float(data.lengths(part).double().mean()) for part in PARTS]
        values = {"texts": ("split", counts), "length": ("split", lengths)} | {
            name: (
                axes if name == "adversary_jsd" else axes[::2],
                [numbers[name] for numbers in texts],
            )
            for name in texts[0]
        }
        coords = {"split": list(PARTS), "encoder_of": list(IN_CONTEXT), "lambda": weights}
        return models.assign(describe(xarray.Dataset(values, coords), VARIABLES))

    return classifiers_of(reproduction, title).measure(
        stages,
        measure,
        name=file_name(title),
        stage="wiegreffe2019",
        instances=settings.max_adversaries,
    )


def _stages(repeats: int, weights: Sequence[float]) -> list[list[ClassifierJob]]:
    """Return the models to train, stage after stage."""
    seeds = range(repeats)
    plain: tuple[Guide, ...] = ("uniform", "base")
    encoders: tuple[Encoder, ...] = (*IN_CONTEXT, "average")
    bases = [ClassifierJob("base", encoder, seed) for encoder in encoders for seed in seeds]
    taught = [
        ClassifierJob("adversary", encoder, 0, weight)
        for encoder in IN_CONTEXT
        for weight in weights
    ]
    uniform = [
        ClassifierJob("guided", encoder, seed, None, "uniform")
        for encoder in IN_CONTEXT
        for seed in seeds
    ]
    guided = [
        ClassifierJob("guided", "average", seed, None, guide, "lstm")
        for guide in plain
        for seed in seeds
    ]
    misled = [
        ClassifierJob("guided", "average", 0, weight, "adversary", "lstm") for weight in weights
    ]
    return [bases, [*taught, *uniform, *guided], misled]


def _texts_of(
    trainer: ClassifierTrainer,
    bases: Sequence[ClassifierJob],
    weights: Sequence[float],
    settings: Settings,
) -> dict[str, np.ndarray]:
    """Measure single texts of the test part beside the first base of an encoder."""
    first, *others = bases
    batches = trainer.data.parts["test"]
    outputs = trainer.outputs(first, ("test",))["test"]

    def far(other: ClassifierJob) -> np.ndarray:
        distances_from_base = distances(batches, trainer.outputs(other, ("test",))["test"], outputs)
        return distances_from_base["jsd"].numpy()

    numbers = torch.cat([batch.numbers for batch in batches]).tolist()
    instances = adversaries_of_some(
        trainer.model(first),
        drawn_from(batches, settings.max_adversaries, settings.seed),
        numbers,
        torch.Generator().manual_seed(settings.seed),
    )
    largest = [output.attention[:, 0, 0].amax(-1) for output in outputs]
    seeds = [far(other) for other in others]
    taught = [replace(first, kind="adversary", weight=weight) for weight in weights]
    return {
        "largest": torch.cat(largest).double().numpy(),
        "seed_jsd": np.median(seeds, 0) if seeds else np.full(len(numbers), np.nan),
        "adversary_jsd": np.stack([far(other) for other in taught]),
        "instance_jsd": instances[0],
        "instance_tvd": instances[1],
    }
