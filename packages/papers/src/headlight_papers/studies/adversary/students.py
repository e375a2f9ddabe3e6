"""Students of a classifier: their training, and metrics that compare them with their teacher."""

import copy
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LRScheduler

from headlight.analysis.batch_size import batch_tokens
from headlight.analysis.classifier_outputs import LabelPositions
from headlight.analysis.labelled_texts import Classified
from headlight.analysis.positions import Texts
from headlight.analysis.text_ids import units_of
from headlight.capture import AttentionSite, CapturedModel, Classes, LayerRecord, attention_replaced
from headlight.capture.attention_graph import attention_with_graph
from headlight.capture.loading import load_start, quiet
from headlight.capture.torch_settings import own_precision
from headlight.encode import length_batches
from headlight.encode.batch import Batch
from headlight.errors import CaptureError, UsageError, setting
from headlight.tensors import Visible
from headlight.vocabulary import Kind
from headlight_papers.classifiers.attention_changes import uniform
from headlight_papers.spans import span_score
from headlight_papers.studies.adversary import AdversarySettings
from headlight_papers.training.text_classifier import (
    Attention,
    Logits,
    Outputs,
    ValidMask,
    compare,
    cross_entropy,
)
from headlight_papers.training.trainer import (
    AdversarialObjective,
    Trainer,
    TrainingBatch,
    TrainingTask,
    rise_and_fall,
    seeded,
)


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """Texts as models read them.

    Attributes:
        batch: their tokens.
        positions: where the predictions are.
        valid: which predictions, rows and keys count.
        units: the document, or text, that each row is of.
    """

    batch: Batch
    positions: LabelPositions
    valid: ValidMask
    units: tuple[int, ...]

    @property
    def labels(self) -> Int64[Tensor, " prediction"]:
        """The gold class of each prediction."""
        return torch.tensor(self.positions.labels, device=self.valid.predictions.device)

    def __len__(self) -> int:
        return len(self.units)


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """Outputs of a model for a batch.

    Attributes:
        logits: of each prediction.
        attention: of the places, as distributions over the keys that count.
        visible: by layer, which keys each query may attend to; None for all.
    """

    logits: Float[Tensor, "prediction label"]
    attention: Attention
    visible: Mapping[int, Visible | None]


@dataclass(frozen=True)
class AttentionSelection:
    """Selection of attention to compare.

    Attributes:
        kind: of encoder, decoder, or from one to the other.
        places: layers and heads.
        settings: which rows and keys.
    """

    kind: Kind
    places: tuple[tuple[int, int], ...]
    settings: AdversarySettings

    @classmethod
    def of(
        cls, sites: Sequence[AttentionSite], settings: AdversarySettings
    ) -> "AttentionSelection":
        """All heads of these sites, or those that are asked for.

        Raises:
            UsageError: one of them is in no layer.
        """
        available = [(site.layer, head) for site in sites for head in range(site.heads)]
        wanted = range(max(site.heads for site in sites))
        for head in settings.heads or ():
            if head not in wanted:
                raise UsageError(f"there is no head {head}: heads are 0 to {wanted[-1]}.")
        places = tuple(at for at in available if settings.heads is None or at[1] in settings.heads)
        return cls(sites[0].kind, places, settings)

    def heads(self, layer: int) -> list[int]:
        """Return the selected heads of a layer."""
        return [head for at, head in self.places if at == layer]

    @property
    def layers(self) -> list[int]:
        """Return the layers with a selected place."""
        return sorted({layer for layer, _ in self.places})

    def read(self, model: CapturedModel, examples: Sequence[Classified]) -> ReadBatch:
        """Examples as one batch, where the model is."""
        device = model.transformer.device
        batch = model.collate(examples)
        texts = Texts.of(batch, examples, self.kind)
        positions = LabelPositions(examples, device)
        keys = texts.keys >= 0
        if self.settings.keep_special:
            keys = keys & (batch.word >= 0)
        predictions = torch.ones(len(positions.labels), dtype=torch.bool, device=device)
        valid = ValidMask(predictions, texts.rows(self.settings.rows), keys)
        return ReadBatch(batch, positions, valid, tuple(units_of(examples).tolist()))

    def attention(
        self, records: Mapping[AttentionSite, LayerRecord], keys: Bool[Tensor, "batch key"]
    ) -> Attention:
        """The weights of all places, head beside head."""
        by_layer = {site.layer: record.weight for site, record in records.items()}
        weight = torch.cat([by_layer[layer][:, self.heads(layer)] for layer in self.layers], 1)
        if not self.settings.keep_special:
            return weight
        masked = torch.where(keys[:, None, None], weight, 0)
        return masked / masked.sum(-1, keepdim=True).clamp_min(torch.finfo(masked.dtype).tiny)


def record_outputs(
    model: CapturedModel, selection: AttentionSelection, read: ReadBatch
) -> ModelOutputs:
    """Run a model with its attention and its graph, in whatever mode it is in."""
    with attention_with_graph(model, model.sites_of(selection.kind, selection.layers)) as records:
        logits = model.transformer(**model.inputs(read.batch)).logits
        attention = selection.attention(records, read.valid.keys)
        visible = {site.layer: record.visible for site, record in records.items()}
        return ModelOutputs(read.positions.predictions(logits), attention, visible)


MEANS = ("accuracy", "nll", "taught_nll", "agreement", "tvd")
"""Statistics of each text: means over its predictions."""

Tables = dict[str, Tensor]
"""By name; a row for each text."""


@torch.no_grad()
def evaluate(
    student: CapturedModel | None,
    teacher: CapturedModel,
    examples: Sequence[Classified],
    selection: AttentionSelection,
    classes: Classes,
) -> Tables:
    """A student beside its teacher; None is the teacher itself with uniform attention.

    Returns:
        ``means``, see `MEANS`; ``kl`` and ``jsd`` of the attention of each place, as means over
        rows; ``counts``, see `counts`; ``units``, the document, or text, of each.
    """
    chosen = length_batches(examples, batch_tokens(teacher, selection.settings))
    parts = []
    for batch in chosen:
        read = selection.read(teacher, [examples[at] for at in batch])
        other = record_outputs(teacher, selection, read)
        if student is None:
            one = _uniform(teacher, read, other, selection)
        else:
            one = record_outputs(student, selection, read)
        parts.append(
            {
                **_compared(read, one, other),
                "counts": counts(read, one, classes),
                "units": torch.tensor(read.units),
            }
        )
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _uniform(
    teacher: CapturedModel, read: ReadBatch, own: ModelOutputs, selection: AttentionSelection
) -> ModelOutputs:
    """The teacher with the same weight on all keys, in the places that are looked at."""
    valid = read.valid
    keys = {
        layer: _visible(valid.keys, own.visible[layer]) & valid.rows[:, None, :, None]
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
        read.positions.predictions(logits), uniform(own.attention, rows), own.visible
    )


def _visible(
    keys: Bool[Tensor, "batch key"], visible: Visible | None
) -> Bool[Tensor, "batch 1 #query key"]:
    every = keys[:, None, None]
    return every if visible is None else every & visible[:, None]


def _compared(read: ReadBatch, one: ModelOutputs, other: ModelOutputs) -> Tables:
    """Return means over the predictions of each text, and over the rows of each component."""
    log = one.logits.double().log_softmax(-1)
    gold = read.labels
    own = Outputs(log.exp(), one.attention.double())
    teacher = Outputs(other.logits.double().softmax(-1), other.attention.double())
    agreement = compare(own, teacher, read.valid, log.log_softmax(-1))
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
        rows.append([score.correct, score.found, score.gold])
    return torch.tensor(rows, dtype=torch.float64)


StudentKind = Literal["adversary", "seed"]
SCRATCH, BASE = "scratch", "base"
"""Random weights, and the teacher's own, in the place of a checkpoint."""
POOLED = 20
"""Batches whose texts are put in the order of their lengths."""


@dataclass(frozen=True)
class Job:
    """One student.

    Attributes:
        kind: trained against the teacher's attention, or on gold labels.
        seed: of its head, of dropout and of the order of texts; alike for both kinds.
        weight: λ of an adversary.
    """

    kind: StudentKind
    seed: int
    weight: float = 0.0

    @property
    def name(self) -> str:
        """Return the name of its file and of its folder."""
        return f"{self.kind}-{self.seed}" + (f"-{self.weight!r}" * (self.kind == "adversary"))


@dataclass(frozen=True, eq=False)
class StudentTrainer(Trainer[Job, CapturedModel, ReadBatch]):
    """Trains students, and keeps what was measured of each.

    Attributes:
        teacher: the classifier that they are beside, which is never changed.
        start: where they begin; see `AdversarySettings`.
        classes: what it tells apart.
        selection: which attention is compared.
        training: texts to learn from.
        held_out: texts on which everything is measured.
        folder: of the files of numbers, one for each student.
        models: where the students themselves are saved; None for nowhere.
    """

    teacher: CapturedModel
    start: str
    classes: Classes
    selection: AttentionSelection
    training: Sequence[Classified]
    held_out: Sequence[Classified]
    folder: Path
    models: Path | None = None
    longest_gradient = 1.0

    def is_done(self, job: Job) -> bool:
        """Whether its numbers are there, and it itself where it is to be kept."""
        has_model = self.models is None or (self.models / job.name).is_dir()
        return has_model and super().is_done(job)

    def run(self, job: Job) -> None:
        """Train a student, measure it, and write its file."""
        device, settings = self.teacher.transformer.device, self.selection.settings
        task = self.task(job)
        with own_precision(device), seeded(task.seed, device):
            student = self.begin(job)
            losses = [
                self._finite(loss, job)
                for loss in self.epochs(
                    student, task, settings.epochs, lambda orders: self._batches(orders, job)
                )
            ]
            values = evaluate(student, self.teacher, self.held_out, self.selection, self.classes)
        if self.models is not None:
            self._save_model(student, job)
        self.save(job, values, {"loss": losses})

    def task(self, job: Job) -> TrainingTask:
        """Return the training task of a student."""
        settings = self.selection.settings
        objective = AdversarialObjective(settings.predictions, settings.distance)
        weight = job.weight if job.kind == "adversary" else None
        return TrainingTask((settings.seed, job.seed), objective, weight)

    def begin(self, job: Job) -> CapturedModel:
        """A student as it is before training; its random weights are those of torch's seed."""
        teacher = self.teacher.transformer
        if self.start == BASE:
            network = copy.deepcopy(teacher)
        elif self.start == SCRATCH:
            network = type(teacher)(copy.deepcopy(teacher.config)).to(teacher.device, teacher.dtype)
        else:
            network = load_start(self.start, self.teacher)
        network.eval().requires_grad_(True)
        name = f"a student of {self.teacher.name}"
        student = CapturedModel(network, self.teacher.tokenizer, name)
        student.sites  # noqa: B018 - found before training, and refused if they do not fit
        return student

    def network(self, model: CapturedModel) -> nn.Module:
        """All of it is trained."""
        network: nn.Module = model.transformer
        return network

    def optimizer(self, model: CapturedModel) -> tuple[AdamW, LRScheduler]:
        """AdamW with a rate that rises and falls."""
        settings = self.selection.settings
        adam = AdamW(model.transformer.parameters(), lr=settings.learning_rate)
        steps = settings.epochs * -(-len(self.training) // settings.batch_size)
        return adam, rise_and_fall(adam, steps)

    def forward(
        self, model: CapturedModel, batch: ReadBatch, given: Attention | None
    ) -> tuple[Logits, Attention]:
        """Attention is never given."""
        outputs = record_outputs(model, self.selection, batch)
        return outputs.logits, outputs.attention

    def _batches(self, orders: np.random.Generator, job: Job) -> Iterator[TrainingBatch[ReadBatch]]:
        """All texts at random, but those of similar length together, so that little is padding."""
        size, order = self.selection.settings.batch_size, orders.permutation(len(self.training))
        groups = []
        for start in range(0, len(order), size * POOLED):
            pool = sorted(
                order[start : start + size * POOLED].tolist(),
                key=lambda at: len(self.training[at].ids),
            )
            groups += [pool[at : at + size] for at in range(0, len(pool), size)]
        for number in orders.permutation(len(groups)):
            batch = self.selection.read(self.teacher, [self.training[at] for at in groups[number]])
            yield TrainingBatch(batch, self._taught(batch) if job.kind == "adversary" else None)

    @torch.no_grad()
    def _taught(self, batch: ReadBatch) -> Outputs:
        outputs = record_outputs(self.teacher, self.selection, batch)
        return Outputs(outputs.logits.softmax(-1), outputs.attention)

    def _finite(self, loss: float, job: Job) -> float:
        if not np.isfinite(loss):
            raise CaptureError(
                f"the loss of {job.name} is not finite; train with a smaller learning rate "
                f"({setting('learning_rate=')}), or without so large a λ ({setting('lambdas=')})."
            )
        return loss

    def _save_model(self, student: CapturedModel, job: Job) -> None:
        """In a folder that appears whole."""
        assert self.models is not None  # noqa: S101
        place, partial = self.models / job.name, self.models / f"{job.name}.partial"
        for old in (place, partial):
            shutil.rmtree(old, ignore_errors=True)
        with quiet():
            student.transformer.save_pretrained(partial)
        tokenizer = student.require_tokenizer("a student is saved with it")
        tokenizer.save_pretrained(partial)
        partial.rename(place)
