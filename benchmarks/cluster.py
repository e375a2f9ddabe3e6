"""What it costs to share a run: a worker alone, here and on Ray, against the plain engine."""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import ray
import torch

import headlight
from benchmarks.timing import rounds
from headlight.capture.loading import EMBEDDED_NAME
from headlight.corpora import SAMPLE_TEXT

SHORT, LONG = 256, 2560
"""Texts of one shard and of ten, each of which is a block; what both cost is for starting, for the
report, and the like."""
SHARDS = 9
"""That the long run has more."""
COPIES = 10
"""Of the sample corpus, so that there are enough texts."""
LENGTH = 48


class Surveyor:
    """Surveys copies of the sample corpus again and again; the model is loaded once."""

    def __init__(self, corpus: str) -> None:
        torch.set_num_threads(1)
        self._model = headlight.load(EMBEDDED_NAME)
        self._corpus = corpus

    def survey(self, workers: str | None, number: int) -> None:
        """One run in a folder of its own."""
        folder = Path(tempfile.mkdtemp())
        try:
            found = headlight.survey(
                self._corpus,
                model=self._model,
                out=folder / "run",
                workers=workers,
                pairs=True,
                max_examples=number,
                max_length=LENGTH,
                progress=False,
            )
        finally:
            shutil.rmtree(folder)
        if found.attrs["examples"] != number:
            raise ValueError(f"the corpus has only {found.attrs['examples']} texts.")


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text(f"{Path(SAMPLE_TEXT).read_text()}\n\n" * COPIES)
        times = _times(str(corpus), count)
    rows = []
    for way, name in (("worker", "one worker"), ("ray", "one Ray worker")):
        shards = [
            one / plain for one, plain in zip(_more(times, way), _more(times, "plain"), strict=True)
        ]
        start = [
            one - plain
            for one, plain in zip(times[f"{way} short"], times["plain short"], strict=True)
        ]
        remark = f"{statistics.median(start):+.1f} s for a run of one shard, report included"
        rows.append(
            (f"{name} ÷ plain engine", f"{statistics.median(shards):.2f}×", "≤ 1.1×", remark)
        )
    shard = statistics.median(_more(times, "plain")) / SHARDS
    remark = f"{SHORT} pairs of {LENGTH} tokens; Ray started and model loaded before"
    return [*rows, ("a shard by the plain engine", f"{shard:.2f} s", "", remark)]


def _times(corpus: str, count: int) -> dict[str, list[float]]:
    ray.init("local", num_cpus=1, log_to_driver=False)
    here, there = Surveyor(corpus), ray.remote(num_cpus=1)(Surveyor).remote(corpus)
    ways: dict[str, Callable[[], object]] = {}
    for name, number in (("short", SHORT), ("long", LONG)):
        ways[f"plain {name}"] = partial(here.survey, None, number)
        ways[f"worker {name}"] = partial(here.survey, "join", number)
        ways[f"ray {name}"] = lambda number=number: ray.get(there.survey.remote("join", number))
    try:
        return rounds(ways, count)
    finally:
        ray.shutdown()


def _more(times: Mapping[str, list[float]], way: str) -> list[float]:
    """What the long run costs more than the short one, in each round."""
    return [
        long - short
        for short, long in zip(times[f"{way} short"], times[f"{way} long"], strict=True)
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
