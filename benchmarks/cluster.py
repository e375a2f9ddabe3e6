"""What it costs to share a run: a worker alone, here and on Ray, against the plain engine."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import ray
import torch

import headlight
from benchmarks.timing import ratio, rounds
from headlight.capture.loading import EMBEDDED_NAME

TEXTS = 600
"""Two shards and the beginning of a third, which are three blocks."""
LENGTH = 48


class Surveyor:
    """Surveys the sample corpus again and again; the model is loaded once."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._model = headlight.load(EMBEDDED_NAME)

    def survey(self, workers: str | None) -> None:
        """One run in a folder of its own."""
        folder = Path(tempfile.mkdtemp())
        try:
            headlight.survey(
                model=self._model,
                out=folder / "run",
                workers=workers,
                max_examples=TEXTS,
                max_length=LENGTH,
                progress=False,
            )
        finally:
            shutil.rmtree(folder)


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    ray.init("local", num_cpus=1, log_to_driver=False)
    here, there = Surveyor(), ray.remote(num_cpus=1)(Surveyor).remote()
    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: here.survey(None),
        "worker": lambda: here.survey("join"),
        "ray": lambda: ray.get(there.survey.remote("join")),
    }
    try:
        times = rounds(ways, count)
    finally:
        ray.shutdown()
    plain = sorted(times["plain"])[count // 2]
    remark = f"a survey of {TEXTS} texts, {plain:.0f} s, with its report"
    return [
        ("one worker ÷ plain engine", f"{ratio(times, 'worker', 'plain'):.2f}×", "≤ 1.1×", remark),
        (
            "one Ray worker ÷ plain engine",
            f"{ratio(times, 'ray', 'plain'):.2f}×",
            "≤ 1.1×",
            "Ray started and model loaded before",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
