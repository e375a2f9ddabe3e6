"""What a trained tagger is worth, and how far it is from its teacher, in numbers for one part."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.papers.yang2020.tagging_data import TagBatch, TaggingData
from headlight.reduce.spans import SpanScore, span_score
from headlight.training.outputs import Outputs, compare, cross_entropy

Numbers = dict[str, float | list[float]]
"""By name; a list has one for each head."""


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
    batches: Sequence[TagBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> Numbers:
    """How far predictions and attention are from a teacher's, as means over words.

    `kl_cell` is KL as the paper has it, a mean over all entries of the attention: that of a row is
    divided by how many it has.
    """
    sums: dict[str, Float64[Tensor, "..."]] = {}
    words, cells = 0, 0
    for batch, one, other in zip(batches, outputs, teacher, strict=True):
        real = batch.real
        for name, values in _compared(batch, one, other).items():
            kept = real if values.ndim == 2 else real[:, None]
            total = torch.where(kept, values.double(), 0).sum((0, -1))
            sums[name] = sums.get(name, 0) + total
        words += int(real.sum())
        cells += int((real.sum(-1) ** 2).sum())
    found: Numbers = {name: (total / words).tolist() for name, total in sums.items()}
    found["kl_cell"] = float(sums["kl"].mean() / cells)
    return found


def _compared(batch: TagBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    """By word, or by head and word."""
    log = one.probability.double().clamp_min(1e-300).log().log_softmax(-1)
    return compare(one, other, batch.valid, log)
