"""Tiny runs of every study, of which `frozen_numbers` takes the numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
import xarray

import example_data
import headlight
from frozen_numbers import Numbers, of_dataset
from headlight.settings.flow import METHODS
from shared import Shared
from translators import FAMILIES

MEASURES = ["weight", "norm", "effective", "gradient"]
QUESTIONS = ["removal", "flips", "correlation"]
LABELLED = 40


# ------------------------------------------------------------------------------- studies


@dataclass(frozen=True)
class StudyRun:
    """A study on few examples.

    Attributes:
        study: its name.
        settings: those that make it small, and leave out none of its variables.
        reads: of `example_data.SOURCES`; by default what the catalogue says.
        model: which of the models of `Material`.
        gold: whether it is given links between words.
    """

    study: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    reads: str = "text"
    model: str = "model"
    gold: bool = False


def labelled_run(study: str, **settings: Any) -> StudyRun:
    return StudyRun(study, settings, "labelled", "classifier")


RUNS = {
    "survey": StudyRun("survey", {"measures": MEASURES}),
    "survey-pairs": StudyRun("survey", {"pairs": True, "max_length": 24}),
    "survey-numbers": StudyRun(
        "survey",
        {
            "numbers": ["ranks", "importance", "null_space", "sinks"],
            "passages": False,
            "token_types": 0,
        },
    ),
    "distances": StudyRun("distances"),
    "ablation": StudyRun("ablation", {"max_examples": 4}),
    "flow-mixing": StudyRun("flow", {"methods": ["mixing"]}),
    "flow": StudyRun("flow", {"methods": list(METHODS), "max_examples": 3}),
    "circuits": StudyRun(
        "circuits",
        {
            "measures": MEASURES[:3],
            "sequences": 3,
            "tokens": 8,
            "needles": 3,
            "haystack": 20,
        },
        "haystack",
        "decoder",
    ),
    "faithfulness": StudyRun(
        "faithfulness",
        {"questions": QUESTIONS, "max_examples": 3, "max_length": 16},
    ),
    "faithfulness-classifier": StudyRun(
        "faithfulness",
        {
            "maps": ["weight", "norm", "effective", "gradient_input", "leave_one_out"],
            "questions": QUESTIONS,
            "units": "words",
            "shares": "eraser",
            "rows": "mean",
            "layers": [0, 1],
            "coefficient": "kendall",
        },
        "labelled",
        "classifier",
    ),
}


class Material:
    """Models and data for all runs, each made when it is first asked for.

    Several processes may share the folder; see `Shared`.

    Args:
        folder: in which they are written.
    """

    def __init__(self, folder: Path) -> None:
        self._shared = Shared(folder)

    @cached_property
    def examples(self) -> Path:
        """What studies read, see `example_data.SOURCES`; texts with labels are more than there."""
        return self.new("examples", _write_examples)

    @cached_property
    def model(self) -> Path:
        """A BERT with its head whose attention is far from uniform."""
        return self.new("model", lambda to: sharpened(example_data.tiny_model(to)))

    @cached_property
    def classifier(self) -> Path:
        """Another with a head for two classes."""
        return self._shared("classifier", example_data.tiny_classifier)

    @cached_property
    def translator(self) -> Path:
        """A Marian model."""
        return self._shared("translator", lambda to: FAMILIES["marian"].saved(to, head=True))

    @cached_property
    def decoder(self) -> Path:
        """A GPT-2 with its head."""
        return self._shared("decoder", example_data.tiny_decoder)

    def new(self, name: str, write: Callable[[Path], object]) -> Path:
        def fill(folder: Path) -> None:
            folder.mkdir()
            write(folder)

        return self._shared(name, fill)


def _write_examples(folder: Path) -> None:
    example_data.write(folder)
    chosen = np.random.default_rng(1)
    rows = ["label\ttext"]
    for _ in range(LABELLED):
        words = example_data.sentence(chosen)
        label = "positive" if {"old", "cat", "song"} & {*words} else "negative"
        rows.append(f"{label}\t{' '.join(words[: chosen.integers(3, 8)])}")
    path = folder / example_data.SOURCES["labelled"]
    path.write_text("\n".join(rows), encoding="utf-8")


def sharpened(folder: Path, times: float = 20) -> Path:
    """The model in the folder with larger weights: tokens attend to few others, of many norms."""
    made = transformers.BertForMaskedLM.from_pretrained(folder)
    for name, parameter in made.named_parameters():
        if parameter.ndim > 1:
            parameter.data.mul_(times)
        elif name.endswith("LayerNorm.weight"):
            parameter.data.mul_(torch.linspace(0.5, 1.5, len(parameter)))
        else:
            parameter.data.add_(0.05)
    made.save_pretrained(folder)
    return folder


# ----------------------------------------------------------------------------- what is run


def numbers_of(name: str, material: Material) -> Numbers:
    """Make the run of that name and collect its numbers.

    Args:
        name: of `RUNS`.
        material: what it reads.
    """
    return of_dataset(study_result(RUNS[name], material))


def study_result(run: StudyRun, material: Material, **options: Any) -> xarray.Dataset:
    """The result of a study, by its public function."""
    source = material.examples / example_data.SOURCES[run.reads]
    settings = dict(run.settings)
    if run.gold:
        settings["gold"] = str(material.examples / "gold.talp")
    model = getattr(material, run.model)
    study = getattr(headlight, run.study)
    found: xarray.Dataset = study(source, model=model, progress=False, **settings, **options)
    return found
