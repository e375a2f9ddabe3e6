"""Models of the sweep and models that are guided: their jobs and their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
import pandas
import torch
import xarray
from jaxtyping import Float64
from torch import Tensor
from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight.corpora import open_tagged, read_word_vectors, source_state
from headlight.errors import CorpusError, setting
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.trained import (
    Kind,
    ModelFamily,
    Rows,
    TeacherJob,
    TeacherTrainer,
    lambdas_of,
    reference_rows,
    run_table,
    sweep_jobs,
)
from headlight_papers.papers.yang2020.tagger import (
    HEADS,
    TagBatch,
    Tagger,
    TaggingData,
    prepare_data,
)
from headlight_papers.spans import SpanScore, span_score
from headlight_papers.training.text_classifier import Attention, Outputs, compare, cross_entropy
from headlight_papers.training.trainer import TrainingTask, rise_and_fall

Numbers = dict[str, float | list[float]]
"""By name; a list has one for each head."""


Guide = Literal["base", "adversary", "uniform", "identity"]
"""Source of the attention that a model is given."""


PEAK = 4e-3
"""The learning rate at its highest."""
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Job(TeacherJob):
    """One tagger; see `TeacherJob`."""

    kind: Kind
    seed: int
    weight: float | None = None
    guide: Guide | None = None


class TaggerTrainer(TeacherTrainer[Job, Tagger, TagBatch]):
    """Trains taggers on the same sentences."""

    def begin(self, job: Job) -> Tagger:
        """A new tagger for the tags of the data."""
        return Tagger.of(self.data)

    def optimizer(self, model: Tagger) -> tuple[Adam, LRScheduler]:
        """Adam with a rate that rises and falls."""
        steps = self.config.epochs * len(self.data.parts["train"])
        adam = Adam(model.parameters(), lr=PEAK, betas=BETAS, fused=True)
        return adam, rise_and_fall(adam, steps)

    def score(self, numbers: Numbers, task: TrainingTask) -> float:
        """As the released code has it, the test part selects by F1 whatever a model is."""
        selected = replace(task, weight=None) if self.config.selection == "test" else task
        return super().score(numbers, selected)

    def plain(self, batch: TagBatch, guide: str) -> Attention:
        """Return the same weights in all heads; padding gets none."""
        length = batch.words.shape[1]
        if guide == "identity":
            weight = torch.eye(length).expand(len(batch.words), -1, -1)
        else:
            weight = (batch.real / batch.real.sum(-1, keepdim=True))[:, None].expand(-1, length, -1)
        return weight[:, None].expand(-1, HEADS, -1, -1)

    def quality(self, batches: Sequence[TagBatch], outputs: Sequence[Outputs]) -> Numbers:
        """F1 of spans by both readings, share of right tags, and NLL of the gold tags per word."""
        strict, lenient = SpanScore(), SpanScore()
        right, surprise, words = 0, 0.0, 0
        for batch, output in zip(batches, outputs, strict=True):
            tags = output.probability.argmax(-1)
            gold, predicted = (
                self.data.tag_names(batch, batch.tags),
                self.data.tag_names(batch, tags),
            )
            strict += span_score(gold, predicted)
            lenient += span_score(gold, predicted, "lenient")
            right += int((tags == batch.tags)[batch.real].sum())
            lost = cross_entropy(output.probability.double().clamp_min(1e-300).log(), batch.tags)
            surprise += float(lost[batch.real].sum())
            words += int(batch.real.sum())
        return {
            "f1": strict.f1,
            "f1_lenient": lenient.f1,
            "accuracy": right / words,
            "nll": surprise / words,
        }

    def difference(
        self, batches: Sequence[TagBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """Compute the distance of predictions and attention from a teacher's, as means over words.

        `kl_cell` is KL as the paper has it, a mean over all entries of the attention: that of a row
        is divided by how many it has.
        """
        sums: dict[str, Float64[Tensor, "..."]] = {}
        words, cells = 0, 0
        for batch, one, other in zip(batches, outputs, teacher, strict=True):
            real = batch.real
            log = one.probability.double().clamp_min(1e-300).log().log_softmax(-1)
            for name, values in compare(one, other, batch.valid, log).items():
                selected = real if values.ndim == 2 else real[:, None]
                total = torch.where(selected, values.double(), 0).sum((0, -1))
                sums[name] = sums.get(name, 0) + total
            words += int(real.sum())
            cells += int((real.sum(-1) ** 2).sum())
        numbers: Numbers = {name: (total / words).tolist() for name, total in sums.items()}
        numbers["kl_cell"] = float(sums["kl"].mean() / cells)
        return numbers


MODELS = "taggers"
"""The folder of trained models, among the results."""
FEWEST = 30
"""Sentences that can be split."""

VARIABLES = {
    "f1": ("F1 of spans, strict IOB2", "1"),
    "f1_lenient": ("F1 of spans as conlleval counts them", "1"),
    "accuracy": ("share of words with their gold tag", "1"),
    "nll": ("negative log-likelihood of gold tags per word", "nats"),
    "taught_nll": ("negative log-likelihood of the base's tags per word", "nats"),
    "agreement": ("share of words with the base's tag", "1"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "kl": ("KL(attention ‖ the base's) of a row", "nats"),
    "jsd": ("JSD of attention and the base's, of a row", "nats"),
    "kl_cell": ("KL as a mean over all entries, as in the paper", "nats"),
}


def load_sweep(reproduction: Reproduction) -> xarray.Dataset:
    """Bases, adversaries of every λ, other bases and uniform attention, each on dev and test.

    Rows are models, of ``kind`` ``base``, ``adversary``, ``seed`` (the base of another seed beside
    this one) or ``uniform`` (the base with uniform attention, not trained for it).
    """
    return _run_table(reproduction, "sweep", sweep_jobs(reproduction, Job), _references)


def load_guided(reproduction: Reproduction) -> xarray.Dataset:
    """Models with attention given, frozen: a base's, an adversary's, uniform, each word itself."""
    weights = tuple(dict.fromkeys(chosen_lambdas(reproduction)))
    sources: list[tuple[Guide, float | None]] = [
        ("base", None),
        *(("adversary", one) for one in weights),
        ("uniform", None),
        ("identity", None),
    ]
    seeds = range(reproduction.settings.repeats)
    stages = [
        [Job("base", seed) for seed in seeds],  # there already, unless somebody has removed them
        [Job("adversary", seed, one) for seed in seeds for one in weights],
        [Job("guided", seed, one, guide) for seed in seeds for guide, one in sources],
    ]
    return _run_table(reproduction, "guided", stages, lambda *_: [])


def chosen_lambdas(reproduction: Reproduction) -> tuple[float, float]:
    """Return the λ nearest to the paper's 0.2 and 3, which multiply a mean over entries."""
    length = float(load_sweep(reproduction).attrs["row_length"])
    multipliers = [one for one in lambdas_of(reproduction) if one] or [0.0]

    def nearest(paper: float) -> float:
        return min(multipliers, key=lambda one: abs(np.log(max(one, 1e-12) * length / paper)))

    return nearest(0.2), nearest(3.0)


def frame_of(result: xarray.Dataset, part: str = "test") -> pandas.DataFrame:
    """A row for each model, with what was measured on one part; of heads their mean."""
    numbers = result[list(VARIABLES)].sel(part=part)
    return numbers.mean("head").to_dataframe().reset_index(drop=True)


def _run_table(
    reproduction: Reproduction,
    name: str,
    stages: list[list[Job]],
    more: Callable[[TaggerTrainer, int], Rows],
) -> xarray.Dataset:
    """Return models as a result: the guided ones, or else all, and further rows of each seed."""
    jobs = [job for stage in stages for job in stage]
    jobs = [job for job in jobs if job.kind == "guided"] or jobs

    def measure(trainer: TaggerTrainer) -> xarray.Dataset:
        seeds = range(reproduction.settings.repeats)
        references = [row for seed in seeds for row in more(trainer, seed)]
        data = trainer.data
        return run_table(trainer, jobs, references, VARIABLES).assign_attrs(
            row_length=data.row_length,
            **{f"sentences_{part}": data.sentences(part) for part in data.parts},
            tags=len(data.tags),
        )

    return taggers_of(reproduction).measure(stages, measure, name=name, stage=name)


def taggers_of(reproduction: Reproduction) -> ModelFamily[TaggerTrainer]:
    """Return the taggers of a reproduction."""
    sources = reproduction.sources
    reads = {
        "max_sentences": reproduction.settings.max_sentences,
        "tagged": source_state(str(sources.tagged)),
        "vectors": source_state(sources.word_vectors) if sources.word_vectors else None,
    }
    return ModelFamily(reproduction, TaggerTrainer, MODELS, _read_data, reads)


def _read_data(reproduction: Reproduction) -> TaggingData:
    """The tagged sentences, split, with word vectors where they are given.

    Raises:
        CorpusError: there are too few, or no tag begins with ``B-``.
    """
    sources, settings = reproduction.sources, reproduction.settings
    sentences = list(islice(open_tagged(str(sources.tagged)), settings.max_sentences))
    if len(sentences) < FEWEST:
        raise CorpusError(
            f"{sources.tagged} holds {len(sentences)} sentences, and to be split it needs at least "
            f"{FEWEST}; name a larger file with {setting('tagged=')}."
        )
    if not any(tag.startswith("B-") for sentence in sentences for tag in sentence.tags):
        raise CorpusError(
            f"{sources.tagged} has no tag that begins a span, such as B-NP, so that there is no F1 "
            f"of spans; name a file in the scheme IOB2 with {setting('tagged=')}."
        )
    vectors = read_word_vectors(sources.word_vectors) if sources.word_vectors else None
    return prepare_data(sentences, vectors, settings.seed)


def _references(trainer: TaggerTrainer, seed: int) -> Rows:
    """Beside a base that of the seed before it, and itself with uniform attention.

    Each pair once: of one seed beside another all distances are what they are the other way.
    """
    others = [Job("base", seed - 1)] if seed else []
    rows = reference_rows(trainer, Job("base", seed), others)
    return [({**about, "seed": seed}, measured) for about, measured in rows]
