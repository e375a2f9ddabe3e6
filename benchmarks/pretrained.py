"""The survey of pretrained models as a user runs it: what a batch more costs, and what any does.

python -m benchmarks.pretrained                    all parts, in some five minutes
python -m benchmarks.pretrained minilm --rounds 3  one part; smollm2, minilm, bert, long
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from transformers import BertConfig, BertModel

import headlight
from benchmarks.timing import Row, show, with_json
from headlight.encode import encode_one
from headlight.engine.batch_runner import BatchRunner
from headlight.processes import keep_freed_memory
from headlight.reading.model import Model

BATCH, LENGTH, CUT = 16, 128, 120
SIZES = (16, 48, 80)
"""Texts of the surveys, whose times lie on a line over batches."""
SMALL, LONG = 100, 2048

NOTE = f"""`headlight.survey(FILE, model=model, max_length={LENGTH})` with all else as it comes, of
models of `make models`, on pieces of the sample text of some {CUT} tokens, {BATCH} to a batch.
Processor time in one thread, over that of the plain forward pass (sdpa) of the same batch, which is
taken next to it. *A batch more* is what passes from the end of one batch to that of the next, in a
survey of {SIZES[1]} texts; *fixed* is where the line through surveys of {SIZES[0]}, {SIZES[1]} and
{SIZES[2]} ({SMALL} of SmolLM2) texts begins, for which no batch is read, without the check of the
model. SmolLM2 is 4-bit weights, written as float32."""

WEIGHTS, NORMS = ("weight",), ("weight", "norm")
WHOLE = (*NORMS, "effective")
LAYERS = (*NORMS, "block_norm", "layer_norm")
SURVEYS = {
    "weights": WEIGHTS,
    "weights and norms": NORMS,
    "the default: effective attention as well": WHOLE,
}
AIMS = {"smollm2": ("≤ 1.03×", "≤ 1.08×", "≤ 1.30×"), "minilm": ("≤ 1.08×", "≤ 1.15×", "≤ 1.45×")}
TITLES = {"smollm2": "SmolLM2-135M", "minilm": "MiniLM", "bert": "BERT-base's shape"}


@dataclass(eq=False)
class Costs:
    """Processor seconds of the batches of a survey.

    Attributes:
        forward: of the plain pass of each batch, but for the first.
        more: from the end of the batch before to the end of this, without that pass.
        whole: of the survey, without those passes.
    """

    forward: list[float] = field(default_factory=list)
    more: list[float] = field(default_factory=list)
    whole: float = 0.0

    @property
    def ratio(self) -> float:
        """Return the median, over batches, of what a batch costs in plain passes of its own."""
        return float(np.median(np.array(self.more) / np.array(self.forward)))


@contextmanager
def _metered(costs: Costs) -> Iterator[None]:
    """Time every batch within the block, and the plain pass of all but the first next to it.

    The first batch holds the check of the model.
    """
    own, ends = BatchRunner.__call__, [0.0]

    def timed(runner: Any, examples: Sequence[Any]) -> Any:
        began = time.process_time()
        recorder = runner._recorder
        if recorder is not None:
            recorder.visit = None
            runner.model.run(runner.model.collate(examples))
        passed = time.process_time() - began
        tally = own(runner, examples)
        end = time.process_time()
        if recorder is not None:
            costs.forward.append(passed)
            costs.more.append(end - passed - ends[0])
            costs.whole -= passed
        ends[0] = end
        return tally

    with mock.patch.object(BatchRunner, "__call__", timed):
        yield


def natural(model: Model, number: int, cut: int = CUT) -> list[str]:
    """Return pieces of the sample text of so many tokens, each without the end of a line."""
    text = (files("headlight") / "assets" / "sample.txt").read_text(encoding="utf-8")
    tokenizer = model.require_tokenizer("a benchmark reads text")
    ids = tokenizer(" ".join(text.split()), add_special_tokens=False, verbose=False).input_ids
    ids = ids * (1 + number * cut // len(ids))
    pieces = [ids[first : first + cut] for first in range(0, number * cut, cut)]
    return [" ".join(tokenizer.decode(piece).split()) for piece in pieces]


class Bench:
    """Surveys of one model on the first texts of a file, as a user runs them."""

    def __init__(self, model: Model, length: int = LENGTH, cut: int = CUT) -> None:
        self.model, self.length = model, length
        self.texts = natural(model, SMALL if length == LENGTH else 2, cut)
        texts, self.texts = self.texts, natural(model, 1)
        self.survey(1, WHOLE)  # compiled loops are loaded
        self.texts = texts

    def survey(self, size: int, measures: Sequence[str], *, metered: bool = False) -> Costs:
        """Return the costs of a survey; of its batches only if they are metered."""
        costs = Costs()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "texts.txt"
            file.write_text("\n\n".join(self.texts[:size]) + "\n", encoding="utf-8")
            began = time.process_time()
            if metered:
                with _metered(costs):
                    self._run(file, measures)
            else:
                self._run(file, measures)
            costs.whole += time.process_time() - began
        return costs

    def _run(self, file: Path, measures: Sequence[str]) -> None:
        options: dict[str, Any] = {"max_length": self.length, "progress": False}
        if tuple(measures) != WHOLE:
            options["measures"] = measures
        headlight.survey(file, model=self.model, **options)

    def marginal(self, measures: Sequence[str], rounds: int, size: int = SIZES[1]) -> Costs:
        """Return the batches of several surveys together; the whole is the median."""
        several = [self.survey(size, measures, metered=True) for _ in range(rounds)]
        return Costs(
            [each for costs in several for each in costs.forward],
            [each for costs in several for each in costs.more],
            statistics.median(costs.whole for costs in several),
        )

    def check(self) -> float:
        """Return the processor seconds of the check that every run begins with."""
        tokenizer = self.model.require_tokenizer("a benchmark reads text")
        examples = [encode_one(tokenizer, text) for text in self.texts[:BATCH]]
        began = time.process_time()
        self.model.verify_on(examples)
        return time.process_time() - began


def _row(what: str, costs: Costs, aim: str = "", remark: str = "") -> Row:
    spread = f"{len(costs.forward)} batches, plain pass {statistics.median(costs.forward):.2f} s"
    return what, f"{costs.ratio:.2f}×", aim, "; ".join(filter(None, (remark, spread)))


def _pretrained(name: str, rounds: int) -> list[Row]:
    """A batch more of three surveys, what is fixed of the default, and a corpus of few texts."""
    bench, title = Bench(_load(name)), TITLES[name]
    rows = []
    for (what, measures), aim in zip(SURVEYS.items(), AIMS[name], strict=True):
        costs = bench.marginal(measures, rounds)
        rows.append(_row(f"{title}, a batch more of {what}", costs, aim))
        if measures == NORMS:
            norms = costs.ratio
    forward = statistics.median(costs.forward)
    sizes = np.array((*SIZES[:2], SMALL if name == "smollm2" else SIZES[2]))
    ends = [bench.survey(size, WHOLE).whole for size in (sizes[0], sizes[2])]
    wholes = np.array([ends[0], costs.whole, ends[1]]) / forward
    slope, fixed = np.polyfit(sizes / BATCH, wholes, 1)
    check = bench.check() / forward
    times = ", ".join(f"{size}: {each:.2f}" for size, each in zip(sizes, wholes, strict=True))
    remark = f"texts and passes: {times}; slope {slope:.2f}×, the check {check:.2f}×"
    rows.append((f"{title}, fixed, beyond the check", f"{fixed - check:.2f}×", "≤ 0.3×", remark))
    if name == "smollm2":
        alone = f"{wholes[-1] / (SMALL / BATCH * costs.ratio):.2f}×"
        rows.append((f"{title}, {SMALL} texts ÷ their batches", alone, "≤ 1.15×", "the check too"))
        layers = bench.marginal(LAYERS, rounds)
        what = f"{title}, `block_norm` and `layer_norm` beside weights and norms"
        more = f"{layers.ratio - norms:+.2f}×"
        rows.append((what, more, "≤ +0.10×", f"{layers.ratio:.2f}× with them"))
    return rows


def _bert(rounds: int) -> list[Row]:
    """The shape of BERT-base with random weights and the words of MiniLM."""
    torch.manual_seed(0)
    tokenizer = _load("minilm").tokenizer
    network = BertModel(BertConfig()).eval()
    bench = Bench(Model(network, tokenizer, name=TITLES["bert"]))
    return [
        _row(f"{TITLES['bert']}, a batch more of the default", costs, "≤ 1.18×")
        for costs in [bench.marginal(WHOLE, rounds, 2 * BATCH)]
    ]


def _long(rounds: int) -> list[Row]:
    """Two texts of 2,048 tokens, of which the second is timed."""
    bench = Bench(_load("smollm2"), LONG, LONG)
    surveys = {"weights and norms": (NORMS, "≤ 1.45×"), "the default": (WHOLE, "≤ 2.0×")}
    return [
        _row(
            f"SmolLM2-135M, a text more of {LONG:,} tokens, {what}",
            bench.marginal(measures, rounds, 2),
            aim,
        )
        for what, (measures, aim) in surveys.items()
    ]


def _machine(rounds: int) -> list[Row]:
    """Return the rates at which one thread reads and writes, and multiplies."""
    numbers, target = torch.ones(2, 1 << 26)  # 256 MB each, of which no cache holds anything
    moved = 2 * numbers.numel() * numbers.element_size()
    rows = [("memory, read and written", moved, "GB/s", lambda: target.copy_(numbers))]
    for dtype in (torch.float32, torch.float64):
        left, right = torch.ones(2048, 576, dtype=dtype), torch.ones(576, 1536, dtype=dtype)
        operations = 2 * left.numel() * right.shape[1]
        name = f"products, {str(dtype).removeprefix('torch.')}"
        rows.append((name, operations, "GFLOP/s", partial(torch.mm, left, right)))
    return [
        (f"this machine: {what}", f"{count / _seconds(run, rounds) / 1e9:.0f} {unit}", "", "")
        for what, count, unit, run in rows
    ]


def _seconds(run: Callable[[], object], rounds: int) -> float:
    """Return the processor seconds of a function; the median."""
    times = []
    for _ in range(5 * rounds + 1):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return statistics.median(times[1:])


def _load(name: str) -> Model:
    return headlight.load(Path(os.environ.get("HEADLIGHT_MODELS", "build/models")) / name)


PARTS: dict[str, Callable[[int], list[Row]]] = {
    "smollm2": lambda rounds: _pretrained("smollm2", rounds),
    "minilm": lambda rounds: _pretrained("minilm", 2 * rounds),
    "bert": _bert,
    "long": _long,
    "machine": _machine,
}


def main(rounds: int = 1, parts: Sequence[str] = tuple(PARTS)) -> list[Row]:
    """Return the rows of the table: what, measured, aim, remark."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as the command line does
    table: list[Row] = []
    for part in parts:
        began = time.perf_counter()
        try:
            fresh = PARTS[part](rounds)
        except headlight.HeadlightError as error:
            fresh = [(part, "", "", f"left out: {error}")]
        print(*(" | ".join(row) for row in fresh), sep="\n")
        print(f"({part}: {time.perf_counter() - began:.0f} s)", flush=True)
        table += fresh
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--rounds", type=int, default=1, help="surveys of each kind; default 1")
    with_json(parser, "pretrained")
    options = parser.parse_args()
    table = main(options.rounds, options.part or tuple(PARTS))
    show(table, options.json)
