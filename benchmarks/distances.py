"""Distances between heads against their definition and the forward pass: BERT-base shape, n=128."""

import statistics
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.survey import THREADS, batch, captured, subject
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, LayerRecord
from headlight.encode.batch import Batch
from headlight.measures.head_divergence import SMOOTHING, distributions, divergence
from headlight.observations.positions import Positions
from headlight.processes import keep_freed_memory
from headlight.studies.distances.study import DistancesObserver


def one_text(batch: Batch) -> Batch:
    """The first text of the batch."""
    return Batch(
        input_ids=batch.input_ids[:1],
        attention_mask=batch.attention_mask[:1],
        token_type_ids=batch.token_type_ids[:1],
        category=batch.category[:1],
        word=batch.word[:1],
        lengths=batch.lengths[:1],
    )


def maps(subject: CapturedModel, batch: Batch) -> Tensor:
    """The weights of all 144 heads on one text."""
    found: list[Tensor] = []
    captured(subject, batch, lambda record: found.append(record.weight[0].clone()))()
    return torch.cat(found)


def naive(rows: np.ndarray) -> np.ndarray:
    """Head by head: everything smoothed, Kullback-Leibler to the mean with all its logarithms."""
    heads, _, keys = rows.shape
    found = np.zeros((heads, heads))
    for head in range(heads):
        smooth = (1 - SMOOTHING) * rows + SMOOTHING / keys
        mean = (smooth[head] + smooth) / 2
        one = (smooth[head] * (np.log(smooth[head]) - np.log(mean))).sum((1, 2))
        other = (smooth * (np.log(smooth) - np.log(mean))).sum((1, 2))
        found[head] = (one + other) / 2
    return found


def observed(
    subject: CapturedModel, batch: Batch, measures: tuple[str, ...] = ("weight",)
) -> Callable[[], None]:
    """A forward pass, the weights of all layers kept and compared."""

    def run() -> None:
        with subject.capture() as recorder:
            observer = DistancesObserver(
                *Positions.for_kind(batch, "encoder"), measures, "include", SMOOTHING
            )
            recorder.visit = observer.visit
            subject.run(batch)
        observer.tally()

    return run


def weights_alone(record: LayerRecord) -> Tensor:
    """What a capture costs without anything done to it."""
    return record.weight


def main(count: int = 9) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    model, text = subject(), one_text(batch())
    assert model.sites  # noqa: S101 - traced before the clock runs
    rows = maps(model, text)
    single, double = rows.numpy(), rows.double().numpy()
    difference = np.abs(divergence(rows).numpy() - naive(double))
    relative = float((difference / np.maximum(naive(double), 1e-12)).max())
    times = rounds(
        {
            "forward": lambda: model.run(text),
            "divergence": lambda: divergence(distributions(rows)),
            "capture": captured(model, text, weights_alone),
            "observed": observed(model, text),
        },
        count,
    )
    slow = rounds(
        {
            "divergence": lambda: divergence(distributions(rows)),
            "single": lambda: naive(single),
            "double": lambda: naive(double),
        },
        3,
    )
    seconds = statistics.median(times["divergence"])
    whole = ratio(times, "observed", "forward")
    return [
        (
            "distances between all pairs of 144 heads, one text",
            f"{ratio(times, 'divergence', 'forward'):.2f}×",
            "≤ 1.0×",
            f"{seconds:.3f} s; in forward passes of that text, 128 tokens",
        ),
        (
            "the same with the capture",
            f"{whole:.2f}×",
            "≤ 1.5×",
            f"the capture alone {ratio(times, 'capture', 'forward'):.2f}×",
        ),
        (
            "the same distances by their definition, numpy, float32",
            f"{ratio(slow, 'single', 'divergence'):.0f}×",
            "≥ 10×",
            "head by head, in times of the first of these rows",
        ),
        (
            "the same distances by their definition, numpy, float64",
            f"{ratio(slow, 'double', 'divergence'):.0f}×",
            "",
            f"largest relative difference to it: {relative:.0e}",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
