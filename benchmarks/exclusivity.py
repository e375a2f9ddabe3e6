"""What adversaries cost, of models and of texts, and a study of faithfulness beside its passes."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoTokenizer, BertForSequenceClassification

import headlight
from headlight.capture import CapturedModel, attention_replaced
from headlight.capture.differentiation import frozen
from headlight.catalogue.embedded_models import EMBEDDED
from headlight.corpora import TaggedSentence
from headlight.encode.batch import Batch
from headlight.measures import jensen_shannon, total_variation
from headlight.measures.adversaries import RELEASED
from headlight.processes import usable_cores
from headlight_papers.papers.teacher_training import TrainingConfig
from headlight_papers.papers.yang2020 import Settings as Yang2020Settings
from headlight_papers.papers.yang2020.tagger_training import Job, TaggerTrainer
from headlight_papers.papers.yang2020.tagging_data import prepare_data
from headlight_papers.training.losses import AdversarialObjective
from headlight_words.training.jobs import run_all

SENTENCES, LENGTH = 8936, 23.7
"""Those of CoNLL-2000 for training, and how long they are."""
WORDS, TYPES = 17_000, 11
"""Words that differ, in small letters, and types of chunks."""
EPOCHS = 6
MODELS = 4
"""Adversaries that are trained for this many epochs, in one process and in two."""

TEXTS, READ = 2, 8
"""That a search is measured on, and a study of faithfulness."""
LOOP_TEXTS, LOOP_STEPS = 2, 5
"""A loop over texts is measured on so many, for so many of its steps."""
CANDIDATES = 5

Row = tuple[str, str, str, str]
Labelled = list[tuple[str, str]]


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


def classifier() -> CapturedModel:
    """The embedded model with a new head of two classes."""
    torch.manual_seed(0)
    network = BertForSequenceClassification.from_pretrained(EMBEDDED, num_labels=2).eval()
    model: CapturedModel = headlight.load(network, AutoTokenizer.from_pretrained(EMBEDDED))
    return model


def labelled(number: int) -> Labelled:
    """Texts of 20 common words, with labels."""
    generator = np.random.default_rng(0)
    common = (
        "the",
        "old",
        "mill",
        "grinds",
        "grain",
        "for",
        "people",
        "by",
        "a",
        "river",
        "sleeps",
    )
    return [
        (" ".join(generator.choice(common, 20)), f"LABEL_{place % 2}") for place in range(number)
    ]


def loop_search(model: CapturedModel, text: str, steps: int) -> None:
    """The search as its authors describe it, of one text, one candidate after the other."""
    network: Any = model.transformer
    inputs = dict(model.require_tokenizer("text")(text, return_tensors="pt"))
    sites = model.sites
    own: dict[int, Tensor] = {}
    with model.capture(sites) as recorder, torch.inference_mode():
        recorder.visit = lambda record: own.update({record.site.layer: record.weight.clone()})
        before = network(**inputs).logits.softmax(-1).clone()
    weights = {layer: weight.clone() for layer, weight in own.items()}
    before = before.clone()
    logits = [
        {
            layer: (3 * torch.randn_like(weight)).requires_grad_()
            for layer, weight in weights.items()
        }
        for _ in range(CANDIDATES)
    ]
    optimiser = torch.optim.Adam(
        [each for found in logits for each in found.values()],
        lr=RELEASED.learning_rate,
        amsgrad=True,
    )
    for _ in range(steps):
        candidates = [{at: each.softmax(-1) for at, each in found.items()} for found in logits]
        loss = torch.zeros(())
        for found in candidates:
            given: Any = {layer: lambda _, site, found=found: found[site.layer] for layer in found}
            with attention_replaced(model, given, kind=sites[0].kind):
                after = network(**inputs).logits.softmax(-1)
            excess = (total_variation(after, before) - RELEASED.margin).relu().sum()
            apart = [jensen_shannon(found[at], weights[at]).mean() for at in found]
            loss = loss + RELEASED.penalty * excess - torch.stack(apart).mean()
            for other in candidates:
                pairs = [jensen_shannon(found[at], other[at]).mean() for at in found]
                loss = loss - torch.stack(pairs).mean() / CANDIDATES**2
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def search_rows(model: CapturedModel) -> list[Row]:
    """Texts per second of the search, beside a loop over texts."""
    source = labelled(TEXTS)
    began = time.process_time()
    found = headlight.instance_adversary(source, model=model, exact="none", progress=False)
    ours = (time.process_time() - began) / TEXTS
    with frozen(model.transformer):
        loop_search(model, source[0][0], 1)
        began = time.process_time()
        for text, _ in source[:LOOP_TEXTS]:
            loop_search(model, text, LOOP_STEPS)
    step = (time.process_time() - began) / (LOOP_TEXTS * LOOP_STEPS)
    return [
        (
            "the most different attention of a text",
            f"{ours:.2f} s",
            "",
            f"embedded model, all heads at once, {TEXTS} texts of 20 words, at most 60 steps; the "
            f"mean JSD found is {float(found.jsd):.3f}",
        ),
        (
            "the same as a loop",
            f"{RELEASED.steps * step / ours:.1f}×",
            "≥ 10×",
            f"the released algorithm text by text, {CANDIDATES} candidates in turn, "
            f"{RELEASED.steps} steps, from {LOOP_STEPS} of them on {LOOP_TEXTS} texts",
        ),
    ]


class Passes:
    """Keeps what a model is run on while a study runs."""

    def __init__(self, model: CapturedModel) -> None:
        self._model = model
        self._run = model.run
        self.batches: list[Batch] = []

    def __enter__(self) -> "Passes":
        def run(batch: Batch, *arguments: Any, **options: Any) -> Any:
            self.batches.append(batch)
            return self._run(batch, *arguments, **options)

        self._model.run = run  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self._model.run

    def again(self) -> float:
        """Seconds of the same passes, with nothing around them."""
        network: Any = self._model.transformer
        inputs = [dict(self._model.inputs(batch)) for batch in self.batches]
        began = time.process_time()
        with torch.inference_mode():
            for each in inputs:
                network(**each)
        return time.process_time() - began


def faithfulness_rows(model: CapturedModel) -> list[Row]:
    """A study of faithfulness beside the passes that it needs."""
    source = [text for text, _ in labelled(READ)]
    maps = ("weight", "norm", "effective", "gradient_input", "leave_one_out")
    with Passes(model) as passes:
        began = time.process_time()
        headlight.faithfulness(source, model=model, maps=maps, units="words", progress=False)
        taken = time.process_time() - began
    passes.again()
    floor = passes.again()
    return [
        (
            "a study of faithfulness",
            f"{taken / floor:.2f}×",
            "≤ 1.2×",
            f"the {len(passes.batches)} passes forward that it needs for {READ} texts and the "
            f"maps {', '.join(maps)} and random orders",
        )
    ]


def main() -> list[Row]:
    """The rows of the table."""
    settings = Yang2020Settings()
    weights = settings.lambdas[:MODELS]
    with tempfile.TemporaryDirectory() as folder:
        trainer = TaggerTrainer(
            prepare_data(corpus(), None),
            TrainingConfig(EPOCHS, AdversarialObjective()),
            Path(folder),
        )
        run_all(trainer, [Job("base", 0)], 1, lambda job: None)
        one, two = (seconds(trainer, weights, processes) for processes in (1, 2))
    epochs = settings.repeats * settings.epochs * (1 + len(settings.lambdas))
    default = epochs * two / (EPOCHS * MODELS) / 60
    model = classifier()
    return [
        *search_rows(model),
        *faithfulness_rows(model),
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
            f"{len(settings.lambdas)} λ and a base × {settings.repeats} seeds × {settings.epochs} "
            "epochs, from the rows above",
        ),
    ]
