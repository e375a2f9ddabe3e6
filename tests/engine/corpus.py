"""A small corpus, and a measurement whose last bits depend on the order of every addition."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headlight.engine.blocks import OwnBlocks, SharedBlocks
from headlight.engine.checkpoint import Checkpoint
from headlight.engine.measurement import Measurement, settings_of
from headlight.engine.progress import Progress
from headlight.engine.shard_runner import BatchJob
from headlight.engine.state import State
from headlight.errors import RunError
from headlight.files import make_folder
from headlight.reduce import Grouped, Moments, Pearson, Tally


@dataclass(frozen=True)
class Text:
    name: str
    ids: tuple[int, ...]
    segments: tuple[int, ...] = ()
    target: tuple[int, ...] = ()


def texts(number: int, seed: int = 0) -> Iterator[Text]:
    generator = np.random.default_rng(seed)
    for place in range(number):
        ids = generator.integers(1, 1000, generator.integers(1, 9)).tolist()
        yield Text(f"corpus.txt:{place + 1}", tuple(ids))


def measure(batch: Sequence[Text]) -> Tally:
    tally = Tally({"ids": Moments((2,)), "lengths": Grouped(Pearson())})
    for text in batch:
        rows = np.stack([np.sin(text.ids), np.sqrt(text.ids) / 3], axis=1)
        tally["ids"].update(rows)
        tally["lengths"].update(np.full(len(rows), len(rows)), rows[:, 0], rows[:, 1])
    return tally


def by_length(shard: Sequence[Text]) -> list[list[int]]:
    """Batches of at most three texts of similar length."""
    order = sorted(range(len(shard)), key=lambda place: len(shard[place].ids))
    return [order[start : start + 3] for start in range(0, len(order), 3)]


def never(error: BaseException) -> bool:
    return False


def work(
    measure: Callable[[Sequence[Text]], Tally] = measure,
    out_of_memory: Callable[[BaseException], bool] = never,
    shard_size: int = 4,
) -> BatchJob[Text]:
    return BatchJob(
        measure=measure,
        batches=by_length,
        length=lambda text: len(text.ids),
        out_of_memory=out_of_memory,
        shard_size=shard_size,
    )


def bits(tally: Tally) -> dict[tuple[str, str], bytes]:
    return {
        (name, field): array.tobytes()
        for name, member in tally.items()
        for field, array in member.arrays().items()
    }


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def run(
    examples: Iterable[Any],
    job: BatchJob[Any],
    *,
    signature: Mapping[str, Any],
    folder: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> State:
    """Measure a corpus alone."""
    checkpoint = None
    if folder is not None:
        checkpoint = Checkpoint(make_folder(folder, error=RunError), settings_of(signature, job))
    blocks = OwnBlocks(checkpoint, resume=resume)
    return Measurement(examples, job, blocks, progress).finish()


def run_shared(
    examples: Iterable[Any],
    job: BatchJob[Any],
    *,
    folder: Path,
    signature: Mapping[str, Any],
    hardware: Mapping[str, Any],
    progress: Progress | None = None,
) -> State:
    """Measure a corpus as one of any number of processes that share a folder."""
    blocks = SharedBlocks(folder, settings_of(signature, job), hardware)
    return Measurement(examples, job, blocks, progress).finish()
