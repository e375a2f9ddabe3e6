"""What a trained tagger is worth, and how far it is from its teacher, in numbers for one part."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.measures import jensen_shannon, kullback_leibler, total_variation
from headlight.papers.yang2020.tagger import Attention, Tagger
from headlight.papers.yang2020.tagging_data import TagBatch, TaggingData
from headlight.reduce.spans import SpanScore, span_score
from headlight.training.adversarial import cross_entropy

Numbers = dict[str, float | list[float]]
"""By name; a list has one for each head."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model does with one batch.

    Attributes:
        probability: of tags.
        attention: before dropout, or what was given in its place.
    """

    probability: Float[Tensor, "sentence word tag"]
    attention: Attention


@torch.no_grad()
def outputs_of(
    model: Tagger, batches: Sequence[TagBatch], given: Sequence[Tensor] | None = None
) -> list[Outputs]:
    """The outputs of a model for these batches, without dropout.

    Args:
        model: any.
        batches: of sentences.
        given: attention for each batch, in the place of the model's own.
    """
    model.eval()
    found = []
    for number, batch in enumerate(batches):
        logits, weight = model(batch.words, batch.real, None if given is None else given[number])
        found.append(Outputs(logits.softmax(-1), weight))
    return found


def quality(data: TaggingData, batches: Sequence[TagBatch], outputs: Sequence[Outputs]) -> Numbers:
    """F1 of spans by both readings, the share of right tags, and NLL of the gold tags per word."""
    strict, lenient = SpanScore(), SpanScore()
    right, surprise, words = 0, 0.0, 0
    for batch, output in zip(batches, outputs, strict=True):
        tags = output.probability.argmax(-1)
        gold, found = data.tag_names(batch, batch.tags), data.tag_names(batch, tags)
        strict += span_score(gold, found)
        lenient += span_score(gold, found, "lenient")
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
    batches: Sequence[TagBatch], outputs: Sequence[Outputs], taught: Sequence[Outputs]
) -> Numbers:
    """How far predictions and attention are from a teacher's, as means over words.

    `kl_cell` is KL as the paper has it, a mean over all entries of the attention: that of a row is
    divided by how many it has.
    """
    sums: dict[str, Float64[Tensor, "..."]] = {}
    words, cells = 0, 0
    for batch, one, other in zip(batches, outputs, taught, strict=True):
        real = batch.real
        for name, values in _differences(batch, one, other).items():
            kept = real if values.ndim == 2 else real[:, None]
            total = torch.where(kept, values.double(), 0).sum((0, -1))
            sums[name] = sums.get(name, 0) + total
        words += int(real.sum())
        cells += int((real.sum(-1) ** 2).sum())
    found: Numbers = {name: (total / words).tolist() for name, total in sums.items()}
    found["kl_cell"] = float(sums["kl"].mean() / cells)
    return found


def mean(value: float | list[float]) -> float:
    """One number of those of all heads."""
    return float(np.mean(value))


def _differences(batch: TagBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    """By word, or by head and word."""
    keys = batch.real[:, None, None]
    agree = one.probability.argmax(-1) == other.probability.argmax(-1)
    taught = cross_entropy(
        one.probability.double().clamp_min(1e-300).log(), other.probability.argmax(-1)
    )
    return {
        "agreement": agree.double(),
        "taught_nll": taught,
        "tvd": total_variation(one.probability, other.probability),
        "kl": kullback_leibler(one.attention, other.attention, keys),
        "jsd": jensen_shannon(one.attention, other.attention, keys),
    }
