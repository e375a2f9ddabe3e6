"""Training of taggers: their jobs, their data, and their files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight.corpora import open_tagged, source_state
from headlight.errors import CorpusError, setting
from headlight_papers.papers.model_families import ModelFamily
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import Kind, TeacherJob, TeacherTrainer
from headlight_papers.papers.yang2020.tagger import HEADS, Tagger
from headlight_papers.papers.yang2020.tagging_data import TagBatch, TaggingData, prepare_data
from headlight_papers.spans import SpanScore, span_score
from headlight_papers.training.learning_rates import rise_and_fall
from headlight_papers.training.model_outputs import Attention, Outputs, compare, cross_entropy
from headlight_papers.training.trainer import TrainingTask
from headlight_words.corpora import read_word_vectors

Numbers = dict[str, float | list[float]]
"""By name; a list has one for each head."""

Guide = Literal["base", "adversary", "uniform", "identity"]
"""Source of the attention that a model is given."""

PEAK = 4e-3
"""Peak learning rate."""
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Job(TeacherJob):
    """Tagger to train; see `TeacherJob`."""

    kind: Kind
    seed: int
    weight: float | None = None
    guide: Guide | None = None


class TaggerTrainer(TeacherTrainer[Job, Tagger, TagBatch]):
    """Trainer of taggers on the same sentences."""

    def begin(self, job: Job) -> Tagger:
        """Return a new tagger for the tags of the data."""
        return Tagger.from_data(self.data)

    def optimizer(self, model: Tagger) -> tuple[Adam, LRScheduler]:
        """Return Adam, and a scheduler whose rate rises and falls."""
        steps = self.config.epochs * len(self.data.parts["train"])
        adam = Adam(model.parameters(), lr=PEAK, betas=BETAS, fused=True)
        return adam, rise_and_fall(adam, steps)

    def score(self, numbers: Numbers, task: TrainingTask) -> float:
        """Select by F1 if the test part selects, whatever a model is, as in the released code."""
        # The released code selects every model by F1 on the test set, adversaries among them.
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
        """Compute span F1 by both readings, accuracy of tags, and NLL of the gold tags per word."""
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
            # A probability that is rounded to 0 would make the mean infinite.
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
        for batch, output, reference in zip(batches, outputs, teacher, strict=True):
            real = batch.real
            # Renormalised after the clamp, so that logarithms are of a distribution again.
            log = output.probability.double().clamp_min(1e-300).log().log_softmax(-1)
            for name, values in compare(output, reference, batch.valid, log).items():
                # Predictions have two axes, rows of heads three.
                selected = real if values.ndim == 2 else real[:, None]
                total = torch.where(selected, values.double(), 0).sum((0, -1))
                sums[name] = sums.get(name, 0) + total
            words += int(real.sum())
            cells += int((real.sum(-1) ** 2).sum())
        numbers: Numbers = {name: (total / words).tolist() for name, total in sums.items()}
        # The paper's scale: its mean over all cells divides a row's KL by the length of the row.
        numbers["kl_cell"] = float(sums["kl"].mean() / cells)
        return numbers


MODELS = "taggers"
"""Folder of trained models, among the results."""
FEWEST = 30
"""Sentences that can be split."""


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
    """Read the tagged sentences, split, with word vectors where they are given.

    Raises:
        CorpusError: There are too few sentences, or no tag begins with ``B-``.
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
