"""What a student is worth, and how far it is from its teacher: numbers of every held-out text."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from headlight.analysis.classifier_plan import Classified
from headlight.analysis.other_attention import uniform
from headlight.capture import AttentionSite, CapturedModel, Classes, attention_replaced
from headlight.encode import length_batches
from headlight.measures import jensen_shannon, kullback_leibler, total_variation
from headlight.reduce.spans import span_score
from headlight.shapes import Visible
from headlight.studies.adversary.sight import ReadBatch, Seen, Sight, watching
from headlight.training.adversarial import cross_entropy

MEANS = ("accuracy", "nll", "taught_nll", "agreement", "tvd")
"""Of each text: the mean over its answers."""

Tables = dict[str, Tensor]
"""By name; a row for each text."""


@torch.no_grad()
def judge(
    student: CapturedModel | None,
    teacher: CapturedModel,
    examples: Sequence[Classified],
    sight: Sight,
    classes: Classes,
) -> Tables:
    """A student beside its teacher; None is the teacher itself with uniform attention.

    Returns:
        ``means``, see `MEANS`; ``kl`` and ``jsd`` of the attention of each place, as means over
        rows; ``counts``, see `counts`; ``streams``, a number of its own for each text.
    """
    chosen = length_batches(examples, sight.settings.batch_tokens)
    reads = (sight.read(teacher, [examples[at] for at in batch]) for batch in chosen)
    parts = []
    for read, one, other in _pairs(student, teacher, reads, sight):
        parts.append(
            {
                "means": _means(read, one, other),
                **_distances(read, one, other),
                "counts": counts(read, one, classes),
                "streams": torch.tensor(read.streams),
            }
        )
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _pairs(
    student: CapturedModel | None,
    teacher: CapturedModel,
    reads: Iterator[ReadBatch],
    sight: Sight,
) -> Iterator[tuple[ReadBatch, Seen, Seen]]:
    """What both do with every batch."""
    for read in reads:
        with watching(teacher, sight) as see:
            taught = see(read)
        if student is None:
            yield read, _uniform(teacher, read, taught, sight), taught
        else:
            with watching(student, sight) as see:
                yield read, see(read), taught


def _uniform(teacher: CapturedModel, read: ReadBatch, own: Seen, sight: Sight) -> Seen:
    """The teacher with the same weight on all keys, in the places that are looked at."""
    counted = read.counted
    keys = {
        layer: _visible(counted.keys, own.visible[layer]) & counted.rows[:, None, :, None]
        for layer in sight.layers
    }

    def replaced(weight: Tensor, site: AttentionSite, *, whole: bool) -> Tensor:
        if whole:
            return uniform(weight, keys[site.layer])
        return uniform(weight[:, None], keys[site.layer])[:, 0]

    whole = sight.settings.heads is None
    chosen: Iterable[int | tuple[int, int]] = sight.layers if whole else sight.places
    replacements = dict.fromkeys(chosen, partial(replaced, whole=whole))
    with attention_replaced(teacher, replacements, kind=sight.kind):
        logits = teacher.transformer(**teacher.inputs(read.batch)).logits
    layers = [layer for layer, _ in sight.places]
    rows = torch.cat([keys[layer] for layer in layers], 1)
    return Seen(read.readout.answers(logits), uniform(own.attention, rows), own.visible)


def _visible(
    keys: Bool[Tensor, "batch key"], visible: Visible | None
) -> Bool[Tensor, "batch 1 #query key"]:
    every = keys[:, None, None]
    return every if visible is None else every & visible[:, None]


def _means(read: ReadBatch, one: Seen, other: Seen) -> Float64[Tensor, "text statistic"]:
    log = one.logits.double().log_softmax(-1)
    gold = torch.tensor(read.readout.labels, device=log.device)
    answers, taught = log.argmax(-1), other.logits.argmax(-1)
    found = torch.stack(
        [
            (answers == gold).double(),
            cross_entropy(log, gold),
            cross_entropy(log, taught),
            (answers == taught).double(),
            total_variation(log.exp(), other.logits.double().softmax(-1)),
        ],
        -1,
    )
    return torch.from_numpy(read.readout.by_text(found.cpu().numpy()))


def _distances(read: ReadBatch, one: Seen, other: Seen) -> Tables:
    """Of the attention of each text and place."""
    counted = read.counted
    first, second = one.attention.double(), other.attention.double()
    found = {}
    for name, measure in (("kl", kullback_leibler), ("jsd", jensen_shannon)):
        rows = measure(first, second, counted.keys[:, None, None])
        total = torch.where(counted.rows[:, None], rows, 0).sum(-1)
        found[name] = (total / counted.rows.sum(-1, keepdim=True)).cpu()
    return found


def counts(read: ReadBatch, seen: Seen, classes: Classes) -> Tensor:
    """What F1 is made of, by text: for texts (gold class, answer), for sentences spans.

    Of spans there are three: those found with their exact place and type, those found, those that
    there are.
    """
    answers = seen.logits.argmax(-1).cpu().numpy()
    gold, owners = read.readout.labels, read.readout.owners
    number = len(classes.names)
    if classes.task == "sequence":
        return torch.from_numpy(np.eye(number**2)[gold * number + answers])
    rows = []
    for text in range(len(read.streams)):
        right, found = (
            [classes.names[tag] for tag in tags[owners == text]] for tags in (gold, answers)
        )
        score = span_score([right], [found])
        rows.append([score.correct, score.found, score.gold])
    return torch.tensor(rows, dtype=torch.float64)
