"""Gradient importance against the forward and backward pass that it needs: BERT-base, 8×128."""

from collections.abc import Callable

import torch
from transformers import BertConfig, BertForMaskedLM

from benchmarks.survey import THREADS, batch
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, LayerRecord, MaskedLanguageModel, Prepared
from headlight.encode.batch import Batch
from headlight.processes import keep_freed_memory
from headlight.studies.survey.importance import ImportanceObserver

MASK = 103
OBJECTIVE = MaskedLanguageModel(
    mask_id=MASK, vocabulary=30522, special_ids=frozenset({0, 100, 101, 102, MASK})
)


def subject() -> CapturedModel:
    """BERT-base with the head of its masked language model, random weights."""
    torch.manual_seed(0)
    return CapturedModel(BertForMaskedLM(BertConfig()).eval(), name="BERT-base, random weights")


def to_embeddings(subject: CapturedModel, texts: Prepared) -> Callable[[], None]:
    """The plain pass (sdpa), forward with the loss and backward to the embeddings alone."""
    model = subject.transformer
    words = model.get_input_embeddings()

    def run() -> None:
        model.requires_grad_(False)
        inputs = subject.inputs(texts)
        embedded = words(inputs.pop("input_ids")).requires_grad_()
        loss = OBJECTIVE.loss(model(inputs_embeds=embedded, **inputs), texts).sum()
        torch.autograd.grad(loss, embedded)

    return run


def training(subject: CapturedModel, texts: Prepared) -> Callable[[], None]:
    """The same with the gradients of all parameters, as a step of training computes them."""
    model = subject.transformer

    def run() -> None:
        model.requires_grad_(True)
        OBJECTIVE.loss(model(**subject.inputs(texts)), texts).sum().backward()
        model.zero_grad()
        model.requires_grad_(False)

    return run


def captured(
    subject: CapturedModel, texts: Prepared, visit: Callable[[LayerRecord], object]
) -> Callable[[], None]:
    """Forward and backward, with a visitor of the gradients."""

    def run() -> None:
        with subject.capture() as recorder:
            recorder.visit = visit
            subject.run_backward(texts, OBJECTIVE)

    return run


def importance(subject: CapturedModel, texts: Batch) -> Callable[[], None]:
    """All of the analysis of a batch: hiding tokens, both passes, averages, merged statistics."""

    def run() -> None:
        prepared = OBJECTIVE.prepare(texts)
        observer = ImportanceObserver(prepared, "encoder", OBJECTIVE.reduction)
        with subject.capture() as recorder:
            recorder.visit = observer.visit
            observer.note_losses(subject.run_backward(prepared, OBJECTIVE))
        observer.members()

    return run


def main(count: int = 7) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does; it helps the plain passes as well
    model, raw = subject(), batch()
    texts = OBJECTIVE.prepare(raw)
    assert model.sites  # noqa: S101 - traced before the clock runs
    times = rounds(
        {
            "plain": to_embeddings(model, texts),
            "gradients": captured(model, texts, lambda record: record.gradient),
            "importance": importance(model, raw),
            "training": training(model, texts),
        },
        count,
    )
    return [
        (
            "gradients of all attention weights",
            f"{ratio(times, 'gradients', 'plain'):.2f}×",
            "",
            "÷ forward and backward pass to the embeddings (sdpa, BERT-base with its head)",
        ),
        (
            "gradient importance, all reductions",
            f"{ratio(times, 'importance', 'plain'):.2f}×",
            "≤ 1.3×",
            "÷ the same",
        ),
        (
            "gradient importance, all reductions",
            f"{ratio(times, 'importance', 'training'):.2f}×",
            "",
            "÷ forward and backward pass of training",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
