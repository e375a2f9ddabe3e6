"""The survey and its parts against the plain forward pass: BERT-base shape, 8×128 tokens."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, Kind, LayerRecord
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.measures.mixing_ratio import mixing_ratios
from headlight.observations.positions import Positions
from headlight.processes import keep_freed_memory
from headlight.studies.survey.observer import HeadsObserver
from headlight.vocabulary import MEASURES

BATCH, LENGTH, THREADS = 8, 128, 2


def subject() -> CapturedModel:
    """BERT-base with random weights."""
    torch.manual_seed(0)
    return CapturedModel(BertModel(BertConfig()).eval(), name="BERT-base, random weights")


def batch() -> Batch:
    """Random pieces, the first and last of each text special, with no padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1000, 30000, (BATCH, LENGTH), generator=generator)
    category = torch.full((BATCH, LENGTH), 3)
    category[:, 0], category[:, LENGTH // 2], category[:, -1], category[:, 20] = 0, 1, 1, 2
    return Batch(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_type_ids=torch.zeros_like(ids),
        category=category,
        word=torch.arange(LENGTH).expand(BATCH, -1),
        lengths=torch.full((BATCH,), LENGTH),
    )


def captured(
    subject: CapturedModel,
    batch: Batch,
    visit: Callable[[LayerRecord], object],
    *,
    residual: bool = False,
) -> Callable[[], None]:
    """A forward pass with a visitor."""

    def run() -> None:
        with subject.capture(residual=residual) as recorder:
            recorder.visit = visit
            subject.run(batch)

    return run


def decoder() -> CapturedModel:
    """GPT-2 with random weights: the same shape under a causal mask."""
    torch.manual_seed(0)
    return CapturedModel(GPT2Model(GPT2Config()).eval(), name="GPT-2, random weights")


def whole_survey(
    subject: CapturedModel,
    batch: Batch,
    kind: Kind = "encoder",
    measures: Sequence[str] = MEASURES,
) -> Callable[[], None]:
    """All measures and reductions of the survey, down to the merged statistics."""

    def run() -> None:
        with subject.capture() as recorder:
            observer = HeadsObserver(*Positions.for_kind(batch, kind), kind, "include", measures)
            recorder.visit, recorder.kernel = observer.visit, observer.kernel
            subject.run(batch)
        observer.tally()

    return run


def norms(record: LayerRecord) -> Any:
    """‖f(x)‖, ‖αf(x)‖ and ‖Σαf(x)‖."""
    scores = Scores(record)
    return scores.vector_norm, scores.norm, scores.merged_norm


def whole_layer(record: LayerRecord) -> Any:
    """The same, with the residual, and behind the norm that follows."""
    scores = Scores(record)
    return scores.vector_norm, scores.norm, scores.merged_norm, scores.block_norm, scores.layer_norm


def effective(record: LayerRecord) -> Any:
    """A⊥ of every head."""
    return Scores(record).effective


def identifiability(record: LayerRecord) -> Any:
    """A⊥ and the ranks of T and [T, 1] of every head."""
    scores = Scores(record)
    return scores.effective, scores.null_spaces


def naive_norms(record: LayerRecord) -> Any:
    """The same by their definitions: α f(x) is formed for every head, one text at a time."""
    weight, value, blocks = record.weight, record.value, record.site.projection.weight
    found = []
    for alpha, v in zip(weight, value, strict=True):
        transformed = v @ blocks
        weighted = alpha[..., None] * transformed[:, None]
        found.append(
            (transformed.norm(dim=-1), weighted.norm(dim=-1), weighted.sum(0).norm(dim=-1))
        )
    return found


def naive_effective(record: LayerRecord) -> Any:
    """By the definition: T is formed, its left null space read off a full SVD per head."""
    weight, value, blocks = record.weight, record.value.double(), record.site.projection.weight
    found = []
    for alpha, v in zip(weight.double(), value, strict=True):
        for head in range(alpha.shape[0]):
            transformed = v[head] @ blocks[head].double()
            left, values, _ = torch.linalg.svd(transformed)
            rank = int((values > values[0] * 768 * torch.finfo(torch.float64).eps).sum())
            null = left[:, rank:]
            found.append(alpha[head] - alpha[head] @ null @ null.mT)
    return found


def naive_both(record: LayerRecord) -> Any:
    """Norms and effective attention by their definitions."""
    return naive_norms(record), naive_effective(record)


def main(count: int = 7) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does; it helps the plain pass as well
    model, texts = subject(), batch()
    assert model.sites  # noqa: S101 - traced before the clock runs
    times = rounds(
        {
            "forward": lambda: model.run(texts),
            "weights": captured(model, texts, lambda record: record.weight),
            "norms": captured(model, texts, norms),
            "whole layer": captured(model, texts, whole_layer, residual=True),
            "mixing": captured(model, texts, mixing_ratios, residual=True),
            "effective": captured(model, texts, effective),
            "identifiability": captured(model, texts, identifiability),
            "survey": whole_survey(model, texts),
        },
        count,
    )
    slow = rounds(
        {"forward": lambda: model.run(texts), "naive": captured(model, texts, naive_both)}, 1
    )
    causal = decoder()
    assert causal.sites  # noqa: S101
    under_mask = rounds(
        {
            "forward": lambda: causal.run(texts),
            "survey": whole_survey(causal, texts, "decoder"),
        },
        3,
    )
    seconds = statistics.median(times["forward"])
    whole = ratio(times, "whole layer", "forward")
    fast = ratio(times, "norms", "forward") + ratio(times, "effective", "forward") - 2
    naive = ratio(slow, "naive", "forward") - 1
    return [
        ("plain forward pass (sdpa)", f"{seconds:.2f} s", "", "BERT-base shape, 8×128, 2 threads"),
        ("capture of the weights alone", f"{ratio(times, 'weights', 'forward'):.2f}×", "", ""),
        (
            "capture, ‖f‖, ‖αf‖, ‖Σαf‖",
            f"{ratio(times, 'norms', 'forward'):.2f}×",
            "≤ 1.15×",
            "",
        ),
        (
            "the same, with the residual and behind the norm",
            f"{whole:.2f}×",
            "≤ 0.10 more",
            f"{whole - ratio(times, 'norms', 'forward'):+.2f}",
        ),
        (
            "capture, mixing ratios",
            f"{ratio(times, 'mixing', 'forward'):.2f}×",
            "",
            "no pairs of positions",
        ),
        (
            "capture, effective attention of all heads",
            f"{ratio(times, 'effective', 'forward'):.2f}×",
            "≤ 1.25×",
            "",
        ),
        (
            "the same, and the ranks of T and [T, 1]",
            f"{ratio(times, 'identifiability', 'forward'):.2f}×",
            "",
            "",
        ),
        (
            "whole survey: all measures and reductions",
            f"{ratio(times, 'survey', 'forward'):.2f}×",
            "≤ 1.4×",
            "",
        ),
        (
            "whole survey of GPT-2's shape",
            f"{ratio(under_mask, 'survey', 'forward'):.2f}×",
            "≤ 1.7×",
            "causal: every query has a T of its own",
        ),
        (
            "norms and effective attention by their definitions",
            f"{naive + 1:.0f}×",
            "",
            f"the measures themselves cost {naive / fast:.0f} times what they cost above",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
