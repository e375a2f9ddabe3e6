"""Where more workers stop to help: a simulation of a shared run, fed with what is measured here.

python -m benchmarks.scaling    writes the tables of docs/scaling.md and its picture

Measured: reading and tokenising a text, the state of a survey for three shapes of models, and what
it takes to keep one and to merge it.  Assumed, since it depends on the device: how many texts a
worker measures in a second.  Simulated: workers that take the blocks of `headlight.engine.blocks`.
"""

import heapq
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from matplotlib.figure import Figure
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

import headlight
from headlight.catalogue.embedded_models import EMBEDDED_NAME
from headlight.corpora import SAMPLE_TEXT, open_corpus
from headlight.encode import Examples, texts
from headlight.engine.blocks import Block
from headlight.engine.checkpoint import load_state, save_state
from headlight.engine.file_names import BLOCKS
from headlight.engine.folder import OpenFolder
from headlight.reading.model import Model

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
PICTURE = PAGE.parent / "images" / "scaling.svg"
SHARD = 256
CORPORA = (1_000_000, 100_000_000)
WORKERS = (1, 10, 30, 100, 300, 1000)
ROUNDS = 5
COPIES = 10
"""Of the sample corpus, whose paragraphs are the texts that reading and tokenising are timed on."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that a worker needs.

    Attributes:
        start: until the first block: the process, the library, the model; least and most.
        measuring: for a text, on the device.
        tokenising: for a text.
        reading: for a text that is passed over.
        keeping: for the state of a block.
        merging: for a block, once all are there.
    """

    start: tuple[float, float]
    measuring: float
    tokenising: float
    reading: float
    keeping: float
    merging: float


def blocks_of(shards: int) -> Iterator[int]:
    """The sizes of the blocks of a run, in shards."""
    first = 0
    while first < shards:
        size = min(Block(first, "").shards, shards - first)
        yield size
        first += size


def efficiency(
    corpus: int, workers: int, costs: Costs, *, seed: int = 0, uneven: bool = True
) -> float:
    """The part of the time of all workers in which they measure.

    Workers take blocks in their order until all are measured; then one of them merges the blocks.
    Each reads what lies between its own.  Of uneven ones some are a little slower than others
    (10%, log-normal), and one in fifty three times.

    Args:
        corpus: texts in it.
        workers: how many begin at once.
        costs: of each of them.
        seed: of what is uneven.
        uneven: whether anything is.
    """
    generator = np.random.default_rng(seed)
    slowness = generator.lognormal(0, 0.1, workers) if uneven else np.ones(workers)
    slowness *= np.where(generator.random(workers) < 0.02, 3, 1) if uneven else 1
    starts = generator.uniform(*costs.start, workers)
    free = [(start, number, 0) for number, start in enumerate(starts)]  # when, who, read so far
    heapq.heapify(free)
    first, last = 0, 0.0
    sizes = list(blocks_of(-(-corpus // SHARD)))
    for size in sizes:
        now, number, behind = heapq.heappop(free)
        amount = min(size * SHARD, corpus - first)
        now += (first - behind) * costs.reading
        now += amount * (costs.reading + costs.tokenising + costs.measuring * slowness[number])
        now += costs.keeping
        first += amount
        last = max(last, now)
        heapq.heappush(free, (now, number, first))
    measuring = corpus * costs.measuring / np.sum(1 / slowness)  # if all did nothing else
    return float(measuring / (last + len(sizes) * costs.merging))


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of worker.

    Attributes:
        name: of the model and the device.
        shape: of the model, one of `SHAPES`.
        rate: texts that its device measures in a second, which is assumed.
        start: seconds until its first block, least and most, which are assumed.
    """

    name: str
    shape: str
    rate: float
    start: tuple[float, float]


CASES = (
    Case("BERT-base, a core each", "BERT-base", 20, (5, 10)),
    Case("BERT-base, a GPU each", "BERT-base", 500, (30, 45)),
    Case("70 billion parameters, four GPUs each", "Llama 70B", 20, (120, 180)),
)


def models() -> dict[str, Model]:
    """Models that have as many layers and heads as those they are named after, and are narrow."""
    embedded = headlight.load(EMBEDDED_NAME)
    assert embedded.tokenizer is not None  # noqa: S101 - it comes with the model
    torch.manual_seed(0)
    vocabulary = len(embedded.tokenizer)
    sizes = {"vocab_size": vocabulary, "intermediate_size": 16}
    bert = BertConfig(hidden_size=48, num_hidden_layers=12, num_attention_heads=12, **sizes)
    llama = LlamaConfig(
        hidden_size=128,
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=8,
        **sizes,
    )
    made = {"BERT-base": BertModel(bert), "Llama 70B": LlamaModel(llama)}
    loaded = {name: headlight.load(each.eval(), embedded.tokenizer) for name, each in made.items()}
    return {"embedded": embedded, **loaded}


@dataclass(frozen=True, slots=True)
class StateCosts:
    """Megabytes of a survey's state, and seconds to keep it and to merge it."""

    size: float
    keeping: float
    merging: float


def measure_state(model: Model) -> StateCosts:
    """Of a block of a survey with all measures and passages."""
    with tempfile.TemporaryDirectory() as folder, patch.object(OpenFolder, "tidy"):
        headlight.survey(
            SAMPLE_TEXT,
            model=model,
            out=folder,
            workers="join",
            max_length=24,
            max_examples=64,
            progress=False,
        )
        (block,) = (Path(folder) / BLOCKS).iterdir()
        state, notes = load_state(block)
        keeping = _median(lambda: save_state(Path(folder) / "copy.safetensors", state, notes))
        merging = _median(lambda: state.joined(load_state(block)[0]))
        return StateCosts(block.stat().st_size / 1e6, keeping, merging)


def measure_reading() -> tuple[float, float, float]:
    """Seconds to read a text, seconds to make an example of it besides, and its tokens."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.txt"
        path.write_text(f"{Path(SAMPLE_TEXT).read_text()}\n" * COPIES)
        tokenizer = headlight.load(EMBEDDED_NAME).tokenizer
        assert tokenizer is not None  # noqa: S101 - it comes with the model
        examples = texts(open_corpus(str(path), format="lines"), tokenizer, max_length=512)
        whole = list(examples)
        reading = _median(lambda: _read(examples, make=False)) / len(whole)
        making = _median(lambda: _read(examples, make=True)) / len(whole)
        return reading, making - reading, statistics.mean(len(each.ids) for each in whole)


def _read(examples: Examples, *, make: bool) -> None:
    shards = examples.shards(SHARD)
    while not shards.at_end:
        if make:
            shards.take()
        else:
            shards.skip()


def _median(work: Callable[[], object]) -> float:
    """CPU seconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def main() -> None:
    """Measure, simulate, and write the tables and the picture."""
    torch.set_num_threads(1)
    reading, tokenising, tokens = measure_reading()
    states = {name: measure_state(model) for name, model in models().items()}
    costs = {
        case: Costs(
            start=case.start,
            measuring=1 / case.rate,
            tokenising=tokenising,
            reading=reading,
            keeping=states[case.shape].keeping,
            merging=states[case.shape].merging,
        )
        for case in CASES
    }
    write_tables(
        {
            "measured": _measured(reading, tokenising, tokens, states),
            "simulated": _simulated(costs),
            "limits": _limits(costs),
        }
    )
    draw(costs)


def _measured(
    reading: float, tokenising: float, tokens: float, states: dict[str, StateCosts]
) -> str:
    rows = [
        ("reading a text", f"{1e6 * reading:.0f} µs", f"of {tokens:.0f} tokens on average"),
        ("tokenising it besides", f"{1e6 * tokenising:.0f} µs", "the embedded model's tokenizer"),
    ]
    for name, each in states.items():
        times = f"kept in {1e3 * each.keeping:.1f} ms, merged in {1e3 * each.merging:.1f} ms"
        rows.append((f"state of a survey, shape of {name}", f"{each.size:.2f} MB", times))
    return _table(("what", "measured", "remark"), rows)


def _simulated(costs: dict[Case, Costs]) -> str:
    rows = []
    for case, each in costs.items():
        for corpus in CORPORA:
            shares = [f"{efficiency(corpus, workers, each):.0%}" for workers in WORKERS]
            rows.append((case.name, f"{corpus:,}", *shares))
    return _table(("workers", "texts", *(f"{number:,}" for number in WORKERS)), rows)


def _limits(costs: dict[Case, Costs]) -> str:
    """What each cost takes away from the efficiency of the largest run."""
    rows = []
    corpus, workers = CORPORA[-1], WORKERS[-1]
    free: dict[str, Any] = dict.fromkeys(("tokenising", "reading", "merging", "keeping"), 0.0) | {
        "start": (0.0, 0.0)
    }
    for case, each in costs.items():
        without = [
            efficiency(corpus, workers, replace(each, **{name: cost}))
            for name, cost in free.items()
        ]
        now = efficiency(corpus, workers, each)
        rows.append((case.name, f"{now:.0%}", *(f"{share:.0%}" for share in without)))
    return _table(("workers", "as it is", *(f"without {name}" for name in free)), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_tables(tables: dict[str, str]) -> None:
    """Put each table between its marks in the page."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        page = marked.sub(f"{begin}\n{table}\n{end}", page)
    fresh = PAGE.with_suffix(".new")
    fresh.write_text(page, encoding="utf-8")
    fresh.replace(PAGE)


def draw(costs: dict[Case, Costs]) -> None:
    """Speed-up over the number of workers, for the largest corpus."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    workers = np.unique(np.geomspace(1, WORKERS[-1], 25).astype(int))
    axes.plot(workers, workers, color="0.75", label="as many times as fast")
    for case, each in costs.items():
        speeds = [number * efficiency(CORPORA[-1], int(number), each) for number in workers]
        axes.plot(workers, speeds, marker=".", label=case.name)
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="speed, in workers that measure")
    axes.legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
