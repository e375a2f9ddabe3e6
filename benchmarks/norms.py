"""Ranks of a survey against the plain forward pass, definitions of norms, and stored pairs."""

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import torch
from scipy.stats import spearmanr

from benchmarks.survey import BATCH, LENGTH, THREADS, batch, captured, decoder, subject
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, Kind, LayerRecord
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.observations.positions import Texts
from headlight.processes import keep_freed_memory
from headlight.reduce import Sample, Tally
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.frequency_ranks import FrequencyRanks, Occurrences
from headlight.studies.survey.part_observer import SeenBlock
from headlight.studies.survey.ranks import Known, RankObserver
from headlight.vocabulary import CATEGORIES

TYPES = 30522
PAIRS = 5_000_000
"""So many are stored for scipy; it takes some 100 bytes for each."""


def all_ranks(subject: CapturedModel, batch: Batch, kind: Kind = "encoder") -> Callable[[], None]:
    """All correlations of Sections 4.2 and 4.3, down to the merged statistics."""
    counts = np.bincount(batch.input_ids.numpy().ravel(), minlength=TYPES)
    ranks = FrequencyRanks(np.arange(1.0, TYPES + 1), "ids")
    known = Known(None, Occurrences(ranks, counts))
    texts = Texts(batch.category >= 0, batch.category, batch.input_ids.numpy(), tuple(range(BATCH)))
    sites, size = subject.sites_of(kind), SurveySettings().sample
    merged = Tally()

    def run() -> None:
        samples = Sample(size, 2, len(CATEGORIES)), Sample(size, 4)
        observer = RankObserver(texts, known, sites, *samples)
        with subject.capture() as recorder:
            recorder.visit = lambda record: observer.note_block(  # which looks at no sums
                SeenBlock(Scores(record, precision=torch.float32), None)  # type: ignore[arg-type]
            )
            subject.run(batch)
        merged.take(Tally(observer.members()))

    return run


def naive(record: LayerRecord) -> list[torch.Tensor]:
    """α f(x) is formed for every head, one text at a time, and then its norm."""
    weight, value, blocks = record.weight, record.value, record.site.projection.weight
    return [
        (alpha[..., None] * (v @ blocks)[:, None]).norm(dim=-1)
        for alpha, v in zip(weight, value, strict=True)
    ]


def stored(pairs: int = PAIRS) -> tuple[float, float]:
    """Seconds and bytes of memory per pair of scipy's correlation of stored pairs."""
    generator = np.random.default_rng(0)
    first, second = generator.random((2, pairs), dtype=np.float32)
    began = time.perf_counter()
    spearmanr(first, second)
    seconds = time.perf_counter() - began
    tracemalloc.start()
    spearmanr(first, second)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds / pairs, (peak + first.nbytes + second.nbytes) / pairs


def main(count: int = 5) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    model, texts = subject(), batch()
    assert model.sites  # noqa: S101 - traced before the clock runs
    ranks = all_ranks(model, texts)
    for _ in range(5):  # a corpus has many batches, and only the first ask for new memory
        ranks()
    times = rounds({"forward": lambda: model.run(texts), "ranks": ranks}, count)
    slow = rounds({"forward": lambda: model.run(texts), "naive": captured(model, texts, naive)}, 1)
    causal = decoder()
    under_mask = rounds(
        {"forward": lambda: causal.run(texts), "ranks": all_ranks(causal, texts, "decoder")}, 2
    )
    pairs = sum(site.heads for site in model.sites) * BATCH * LENGTH**2
    ours = statistics.median(times["ranks"]) - statistics.median(times["forward"])
    seconds, memory = stored()
    return [
        (
            "ranks of a survey: all correlations",
            f"{ratio(times, 'ranks', 'forward'):.2f}×",
            "≤ 1.5×",
            f"{pairs / 1e6:.1f} million pairs, by head",
        ),
        (
            "ranks of GPT-2's shape",
            f"{ratio(under_mask, 'ranks', 'forward'):.2f}×",
            "",
            "causal: half the pairs, but masked",
        ),
        ("‖αf‖ by its definition alone", f"{ratio(slow, 'naive', 'forward'):.0f}×", "", ""),
        (
            "scipy's correlation of the stored pairs",
            f"{seconds * pairs / ours:.1f} times as long",
            "",
            f"as all ranks take; measured on {PAIRS / 1e6:.0f} million pairs",
        ),
        (
            "memory of scipy's correlation of 1.9 billion pairs",
            f"{memory * 1.9:.0f} GB",
            "",
            f"{memory:.0f} bytes a pair; ranks keep none",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
