"""Adversaries of Yang's tagger: what the default sweep costs, and what a second process brings."""

import tempfile
import time
from pathlib import Path

import numpy as np

from headlight.corpora import TaggedSentence
from headlight.papers.settings import ReproductionSettings
from headlight.papers.yang2020 import LAMBDAS
from headlight.papers.yang2020.jobs import Job, TaggerTrainer, TrainingConfig
from headlight.papers.yang2020.tagging_data import prepare_data
from headlight.training import run_all, usable_cores
from headlight.training.adversarial import AdversarialObjective

SENTENCES, LENGTH = 8936, 23.7
"""Those of CoNLL-2000 for training, and how long they are."""
WORDS, TYPES = 17_000, 11
"""Words that differ, in small letters, and types of chunks."""
EPOCHS = 6
MODELS = 4
"""Adversaries that are trained for this many epochs, in one process and in two."""

Row = tuple[str, str, str, str]


def corpus() -> list[TaggedSentence]:
    """Random words and chunks, as frequent and as long as real ones."""
    generator = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(generator.choice(letters, size=3 + place % 6)) for place in range(WORDS)]
    frequency = 1 / np.arange(1, WORDS + 1)
    lengths = generator.gamma(5, LENGTH / 5, SENTENCES).round().clip(2, 78).astype(int)
    drawn = generator.choice(WORDS, lengths.sum(), p=frequency / frequency.sum())
    marks = np.array(["O", "B-", "I-"])[generator.choice(3, lengths.sum(), p=(0.13, 0.5, 0.37))]
    found, first = [], 0
    for number, length in enumerate(lengths):
        places = range(first, first + length)
        words = tuple(names[drawn[place]] for place in places)
        tags = tuple(
            mark + (f"T{drawn[place] % TYPES}" if mark != "O" else "")
            for place, mark in zip(places, marks[first : first + length], strict=True)
        )
        found.append(TaggedSentence(f"{number}", words, tags=tags))
        first += length
    return found


def seconds(trainer: TaggerTrainer, weights: tuple[float, ...], processes: int) -> float:
    """Until adversaries of these λ are trained, judged and written."""
    jobs = [Job("adversary", 0, weight) for weight in weights]
    began = time.perf_counter()
    run_all(trainer, jobs, processes, lambda job: None)
    taken = time.perf_counter() - began
    for job in jobs:
        trainer.path(job).unlink()
    return taken


def main() -> list[Row]:
    """The rows of the table."""
    settings = ReproductionSettings()
    weights = LAMBDAS[:MODELS]
    with tempfile.TemporaryDirectory() as folder:
        trainer = TaggerTrainer(
            prepare_data(corpus(), None),
            TrainingConfig(EPOCHS, AdversarialObjective()),
            Path(folder),
        )
        run_all(trainer, [Job("base", 0)], 1, lambda job: None)
        one, two = (seconds(trainer, weights, processes) for processes in (1, 2))
    epochs = settings.repeats * settings.epochs * (1 + len(LAMBDAS))
    default = epochs * two / (EPOCHS * MODELS) / 60
    return [
        (
            "an adversary for one epoch, one thread",
            f"{one / (EPOCHS * MODELS):.1f} s",
            "",
            f"{SENTENCES} sentences of {LENGTH} words, of which four fifths train",
        ),
        (
            "adversaries in two processes",
            f"{one / two:.2f}×",
            "≥ 1.7×",
            f"as fast as in one; {MODELS} of {EPOCHS} epochs, the start of the processes "
            f"included; {usable_cores()} cores",
        ),
        (
            "the default sweep in two processes",
            f"{default:.0f} min",
            "≤ 25 min",
            f"{len(LAMBDAS)} λ and a base × {settings.repeats} seeds × {settings.epochs} epochs, "
            "from the rows above",
        ),
    ]
