"""Metrics that compare a student with its teacher."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, Classes, attention_replaced
from headlight.encode import length_batches
from headlight.engine.batch_size import batch_tokens
from headlight.engine.labelled_texts import Classified
from headlight.tensors import Visible
from headlight_papers.classifiers.attention_changes import uniform
from headlight_papers.spans import span_score
from headlight_papers.studies.adversary.model_outputs import (
    AttentionSelection,
    ModelOutputs,
    ReadBatch,
    record_outputs,
)
from headlight_papers.training.model_outputs import Outputs, compare, cross_entropy

MEANS = ("accuracy", "nll", "taught_nll", "agreement", "tvd")
"""Statistics of each text: means over its predictions."""

Tables = dict[str, Tensor]
"""Tables by name, with a row for each text."""


@torch.no_grad()
def evaluate(
    student: CapturedModel | None,
    teacher: CapturedModel,
    examples: Sequence[Classified],
    selection: AttentionSelection,
    classes: Classes,
) -> Tables:
    """Compare a student with its teacher; None is the teacher itself with uniform attention.

    Returns:
        ``means``, see `MEANS`; ``kl`` and ``jsd`` of the attention of each place, as means over
        rows; ``counts``, see `counts`; ``units``, the document, or text, of each.
    """
    chosen = length_batches(examples, batch_tokens(teacher, selection.settings))
    parts = []
    for batch in chosen:
        read = selection.read(teacher, [examples[at] for at in batch])
        reference = record_outputs(teacher, selection, read)
        if student is None:
            output = _uniform(teacher, read, reference, selection)
        else:
            output = record_outputs(student, selection, read)
        parts.append(
            {
                **_compared(read, output, reference),
                "counts": counts(read, output, classes),
                "units": torch.tensor(read.units),
            }
        )
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _uniform(
    teacher: CapturedModel, read: ReadBatch, reference: ModelOutputs, selection: AttentionSelection
) -> ModelOutputs:
    """Run the teacher with the same weight on all keys, in the observed places."""
    valid = read.valid
    keys = {
        layer: _visible(valid.keys, reference.visible[layer]) & valid.rows[:, None, :, None]
        for layer in selection.layers
    }

    def replaced(weight: Tensor, site: AttentionSite, *, whole: bool) -> Tensor:
        if whole:
            return uniform(weight, keys[site.layer])
        return uniform(weight[:, None], keys[site.layer])[:, 0]

    whole = selection.settings.heads is None
    chosen: Iterable[int | tuple[int, int]] = selection.layers if whole else selection.places
    replacements = dict.fromkeys(chosen, partial(replaced, whole=whole))
    with attention_replaced(teacher, replacements, kind=selection.kind):
        logits = teacher.transformer(**teacher.inputs(read.batch)).logits
    layers = [layer for layer, _ in selection.places]
    rows = torch.cat([keys[layer] for layer in layers], 1)
    return ModelOutputs(
        read.positions.predictions(logits), uniform(reference.attention, rows), reference.visible
    )


def _visible(
    keys: Bool[Tensor, "batch key"], visible: Visible | None
) -> Bool[Tensor, "batch 1 #query key"]:
    all_keys = keys[:, None, None]
    return all_keys if visible is None else all_keys & visible[:, None]


def _compared(read: ReadBatch, output: ModelOutputs, reference: ModelOutputs) -> Tables:
    """Return means over the predictions of each text, and over the rows of each component."""
    # Logarithms come of logits in float64, so that no probability is rounded to 0.
    log = output.logits.double().log_softmax(-1)
    gold = read.labels
    student = Outputs(log.exp(), output.attention.double())
    teacher = Outputs(reference.logits.double().softmax(-1), reference.attention.double())
    agreement = compare(student, teacher, read.valid, log.log_softmax(-1))
    agreement["accuracy"] = (log.argmax(-1) == gold).double()
    agreement["nll"] = cross_entropy(log, gold)
    means = torch.stack([agreement[name] for name in MEANS], -1)
    rows = read.valid.rows
    distances = {
        name: torch.where(rows[:, None], agreement[name], 0).sum(-1) / rows.sum(-1, keepdim=True)
        for name in ("kl", "jsd")
    }
    return {
        "means": torch.from_numpy(read.positions.by_text(means.cpu().numpy())),
        **{name: values.cpu() for name, values in distances.items()},
    }


def counts(read: ReadBatch, outputs: ModelOutputs, classes: Classes) -> Tensor:
    """Return the counts for F1, by text: (gold class, prediction) for texts, spans for sentences.

    Of spans there are three: those found with their exact place and type, those found, those that
    there are.
    """
    predictions = outputs.logits.argmax(-1).cpu().numpy()
    gold, owners = read.positions.labels, read.positions.owners
    number = len(classes.names)
    if classes.task == "sequence":
        return torch.from_numpy(np.eye(number**2)[gold * number + predictions])
    rows = []
    for text in range(len(read)):
        right, predicted = (
            [classes.names[tag] for tag in tags[owners == text]] for tags in (gold, predictions)
        )
        score = span_score([right], [predicted])
        rows.append([score.correct, score.predicted, score.gold])
    return torch.tensor(rows, dtype=torch.float64)
