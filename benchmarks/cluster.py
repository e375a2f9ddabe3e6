"""What it costs to share a run: a worker alone, here and on Ray, against the plain engine."""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import ray
import torch

import headlight
from benchmarks.timing import rounds
from headlight.catalogue.embedded_models import EMBEDDED_NAME
from headlight.corpora import SAMPLE_TEXT
from headlight.engine.batch_runner import SHARD

SHORT, LONG = SHARD, 10 * SHARD
"""Texts of one shard and of ten, each of which is a block; what both cost is for starting, for the
report, and the like."""
SHARDS = 9
"""That the long run has more."""
LENGTH = 48


class Surveyor:
    """Surveys corpora again and again; the model is loaded once."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._model = headlight.load(EMBEDDED_NAME)

    def survey(self, workers: str | None, corpus: Path, number: int) -> None:
        """One run in a folder of its own."""
        folder = Path(tempfile.mkdtemp())
        try:
            found = headlight.survey(
                corpus,
                model=self._model,
                out=folder / "run",
                workers=workers,
                format="lines",
                max_length=LENGTH,
                progress=False,
            )
        finally:
            shutil.rmtree(folder)
        if found.attrs["examples"] != number:
            raise ValueError(f"the corpus has {found.attrs['examples']} texts.")


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    with tempfile.TemporaryDirectory() as folder:
        times = _times(_corpora(Path(folder)), count)
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
    remark = f"{SHORT} texts of up to {LENGTH} tokens; Ray started and model loaded before"
    return [*rows, ("a shard by the plain engine", f"{shard:.2f} s", "", remark)]


def _corpora(folder: Path) -> dict[str, tuple[Path, int]]:
    """Lines of the sample corpus, over and over: the files, and how many texts are in each."""
    lines = [line for line in Path(SAMPLE_TEXT).read_text().splitlines() if line.strip()]
    corpora = {}
    for name, number in (("short", SHORT), ("long", LONG)):
        path = folder / f"{name}.txt"
        path.write_text("\n".join(islice(cycle(lines), number)))
        corpora[name] = path, number
    return corpora


def _times(corpora: Mapping[str, tuple[Path, int]], count: int) -> dict[str, list[float]]:
    ray.init("local", num_cpus=1, log_to_driver=False)
    here = Surveyor()
    there: Any = ray.remote(num_cpus=1)(Surveyor).remote()
    ways: dict[str, Callable[[], object]] = {}
    for name, corpus in corpora.items():
        ways[f"plain {name}"] = partial(here.survey, None, *corpus)
        ways[f"worker {name}"] = partial(here.survey, "join", *corpus)
        ways[f"ray {name}"] = partial(_there, there, corpus)
    try:
        return rounds(ways, count)
    finally:
        ray.shutdown()


def _there(surveyor: Any, corpus: tuple[Path, int]) -> None:
    """A run by the worker on Ray."""
    ray.get(surveyor.survey.remote("join", *corpus))


def _more(times: Mapping[str, list[float]], way: str) -> list[float]:
    """What the long run costs more than the short one, in each round."""
    return [
        long - short
        for short, long in zip(times[f"{way} short"], times[f"{way} long"], strict=True)
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
