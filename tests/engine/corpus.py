"""A small corpus, and a measurement whose last bits depend on the order of every addition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headlight.engine.shard_runner import BatchJob
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
